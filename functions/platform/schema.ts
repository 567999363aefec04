import { platformConfigUpdate, platformConfigView, platformStatus } from '../../runtime/contracts/api/platform.ts';
import { largeBodyLimit } from '../../runtime/http/body.ts';

export const platformStatusSchema = { replies: { 200: platformStatus } } as const;
export const getPlatformConfigSchema = { replies: { 200: platformConfigView } } as const;
export const updatePlatformConfigSchema = {
  body: platformConfigUpdate,
  bodyLimit: largeBodyLimit,
  replies: { 200: platformConfigView },
} as const;
