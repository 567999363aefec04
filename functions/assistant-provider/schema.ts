import { assistantSettings, assistantSettingsView, assistantTest } from '../../runtime/contracts/api/assistant.ts';
import { problemBody } from '../../runtime/contracts/api/common.ts';

/** There is no provider. */
const missing = { 404: problemBody } as const;

export const getProviderSchema = { replies: { 200: assistantSettingsView, ...missing } } as const;
export const setProviderSchema = { body: assistantSettings, replies: { 200: assistantSettingsView } } as const;
export const testProviderSchema = { replies: { 200: assistantTest, ...missing } } as const;
export const deleteProviderSchema = { replies: { 204: null, ...missing } } as const;
