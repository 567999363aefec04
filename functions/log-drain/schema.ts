import { problemBody } from '../../runtime/contracts/api/common.ts';
import { logDrainSettings, logDrainTest, logDrainView } from '../../runtime/contracts/api/log-drain.ts';

/** There is no log drain. */
const missing = { 404: problemBody } as const;

export const getLogDrainSchema = { replies: { 200: logDrainView, ...missing } } as const;
export const setLogDrainSchema = { body: logDrainSettings, replies: { 200: logDrainView } } as const;
export const testLogDrainSchema = { replies: { 202: logDrainTest, ...missing } } as const;
export const deleteLogDrainSchema = { replies: { 204: null, ...missing } } as const;
