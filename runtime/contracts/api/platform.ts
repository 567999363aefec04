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
const image = z.string().max(1000).nullable();

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
  /** The image of each runtime of functions, and of each type of service that the installation can run. */
  runtimeImages: z.object({ node: z.string(), python: z.string().optional() }).optional(),
  serviceImages: z
    .object({
      postgres: z.string(),
      mysql: z.string(),
      redis: z.string(),
      minio: z.string(),
      mongodb: z.string(),
    })
    .partial()
    .optional(),
  /** Where dependencies of functions come from; absent: the public registry. */
  packageRegistries: z.object({ npm: z.string().optional(), pypi: z.string().optional() }).optional(),
  /** Absent: nothing can be built of git. */
  builds: z
    .object({
      image: z.string(),
      registry: z.string(),
      pushAddress: z.string().optional(),
      gitNetworks: z.array(z.string()),
      atOnce: z.int(),
      timeoutSeconds: z.int(),
    })
    .optional(),
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
    /** The image of each type of service; null: services of that type are refused. */
    serviceImages: z
      .strictObject({ postgres: image, mysql: image, redis: image, minio: image, mongodb: image })
      .partial(),
    packageRegistries: z
      .strictObject({ npm: z.string().max(1000).nullable(), pypi: z.string().max(1000).nullable() })
      .partial(),
    /** Of an installation that builds; what builds and where to is given by `svc install`. */
    builds: z
      .strictObject({
        atOnce: z.number().nullable(),
        timeoutSeconds: z.number().nullable(),
        gitNetworks: z.array(z.string().max(200)).max(200).nullable(),
      })
      .partial(),
    /** Cannot change while hosts are made of it; naming the value that it has is fine. */
    appsDomain: z.string().max(1000),
    /** As `appsDomain`. */
    cluster: z.string().max(1000),
  })
  .partial();

export type PlatformConfigUpdate = z.infer<typeof platformConfigUpdate>;
