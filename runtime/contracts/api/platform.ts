import { z } from 'zod';

/** `GET /api/v1/platform/status` */
export const platformStatus = z.object({
  version: z.string(),
  cluster: z.string(),
  appsDomain: z.string(),
  components: z.array(z.object({ name: z.string(), status: z.enum(['on', 'unhealthy', 'disabled']) })),
});

export type PlatformStatus = z.infer<typeof platformStatus>;

const quantity = z.string().max(20);

/** `GET /api/v1/platform/config`: the settings in force, what has a default filled in. */
export const platformConfigView = z.object({
  appsDomain: z.string(),
  cluster: z.string(),
  scheme: z.string(),
  publicPort: z.int().optional(),
  entryPoints: z.array(z.string()),
  ingressAddress: z.string().optional(),
  profile: z.string(),
  trustedProxies: z.array(z.string()),
  allowPrivateNetworks: z.array(z.string()),
  notificationNetworks: z.array(z.string()),
  defaultLimits: z.object({
    cpu: quantity,
    memory: quantity,
    storage: quantity,
    pods: z.int(),
    containerMemory: quantity,
  }),
  /**
   * Of what was last written: `accepted` is in force, `pending` was not judged yet, `refused` is not in force and says
   * why in `message`.
   */
  status: z.enum(['accepted', 'pending', 'refused']),
  message: z.string().optional(),
});

export type PlatformConfigView = z.infer<typeof platformConfigView>;

/**
 * `PATCH /api/v1/platform/config`: what is named is set, lists as a whole, and null goes back to the default. What a
 * value may be is judged together with all the others (422), so the shape says little.
 */
export const platformConfigUpdate = z
  .strictObject({
    profile: z.string().max(50).nullable(),
    trustedProxies: z.array(z.string().max(200)).max(200).nullable(),
    allowPrivateNetworks: z.array(z.string().max(200)).max(200).nullable(),
    notificationNetworks: z.array(z.string().max(200)).max(200).nullable(),
    defaultLimits: z
      .strictObject({
        cpu: z.string().max(200).nullable(),
        memory: z.string().max(200).nullable(),
        storage: z.string().max(200).nullable(),
        pods: z.number().nullable(),
        containerMemory: z.string().max(200).nullable(),
      })
      .partial()
      .nullable(),
    /** Cannot change while hosts are made of it; naming the value that it has is fine. */
    appsDomain: z.string().max(1000),
    /** As `appsDomain`. */
    cluster: z.string().max(1000),
  })
  .partial();

export type PlatformConfigUpdate = z.infer<typeof platformConfigUpdate>;
