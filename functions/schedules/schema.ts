import { nextRunsQuery, nextRunsView, presetsView } from '../../runtime/contracts/api/schedules.ts';

export const nextRunsSchema = { query: nextRunsQuery, replies: { 200: nextRunsView } } as const;
export const presetsSchema = { replies: { 200: presetsView } } as const;
