import { z } from 'zod';

/** `GET /api/v1/platform/status` */
export const platformStatus = z.object({
  version: z.string(),
  cluster: z.string(),
  appsDomain: z.string(),
  components: z.array(z.object({ name: z.string(), status: z.enum(['on', 'unhealthy', 'disabled']) })),
});

export type PlatformStatus = z.infer<typeof platformStatus>;
