import { z } from 'zod';
import {
  componentReply,
  componentUpdate,
  platformConfigUpdate,
  platformConfigView,
  platformStatus,
} from '../../runtime/contracts/api/platform.ts';
import { componentNames } from '../../runtime/domain/monitoring.ts';
import { largeBodyLimit } from '../../runtime/http/body.ts';

export const platformStatusSchema = { replies: { 200: platformStatus } } as const;
export const getPlatformConfigSchema = { replies: { 200: platformConfigView } } as const;
export const updateComponentSchema = {
  params: z.object({ component: z.enum(componentNames) }),
  body: componentUpdate,
  replies: { 200: componentReply },
} as const;
export const updatePlatformConfigSchema = {
  body: platformConfigUpdate,
  bodyLimit: largeBodyLimit,
  replies: { 200: platformConfigView },
} as const;
