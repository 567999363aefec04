import { z } from 'zod';
import { alertList, silenceCreate, silenceList, silenceView } from '../../runtime/contracts/api/alerts.ts';

export const listAlertsSchema = { replies: { 200: alertList } } as const;
export const listSilencesSchema = { replies: { 200: silenceList } } as const;
export const createSilenceSchema = { body: silenceCreate, replies: { 201: silenceView } } as const;
export const deleteSilenceSchema = {
  params: z.object({ silence: z.string().regex(/^[0-9a-f-]{1,64}$/, 'must be the ID of a silence') }),
  replies: { 204: null },
} as const;
