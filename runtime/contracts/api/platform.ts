import { z } from 'zod';
import { clusterNode } from '../platform-state.ts';
import { componentPhases, notRaisedReasons } from '../resources/monitoring.ts';

/** A process, a store or a component of monitoring. */
const componentView = z.object({
  name: z.string(),
  /** `disabled` is a choice of an admin or of the profile, and not unhealthy. */
  status: z.enum(componentPhases),
  /** Its memory limit, if the platform sets one. */
  memory: z.string().optional(),
  /** The last time that the platform raised its memory limit. */
  raised: z.object({ raisedAt: z.string(), from: z.string(), to: z.string(), reason: z.string() }).optional(),
  /** Why the last kill for memory raised nothing. */
  notRaised: z.enum(notRaisedReasons).optional(),
  message: z.string().optional(),
});

/** `PATCH /api/v1/platform/components/{component}`: absent fields keep their value. */
export const componentUpdate = z
  .strictObject({
    enabled: z.boolean(),
    /** Only with `enabled: false`: whether its data is deleted. */
    deleteData: z.boolean(),
    /** Its memory limit, such as `1Gi`; null follows the profile, and the platform raises it again. */
    memory: z.string().max(200).nullable(),
  })
  .partial();

export type ComponentUpdate = z.infer<typeof componentUpdate>;

/** The component after the change, which the controllers apply next. */
export const componentReply = componentView;

/** `GET /api/v1/platform/status` */
export const platformStatus = z.object({
  version: z.string(),
  cluster: z.string(),
  appsDomain: z.string(),
  components: z.array(componentView),
  /** Only for platform admins: the nodes of the cluster; none in the embedded cluster. */
  nodes: z.array(clusterNode).optional(),
});

export type PlatformStatus = z.infer<typeof platformStatus>;

const quantity = z.string().max(20);
const limits = z.object({
  cpu: quantity,
  memory: quantity,
  storage: quantity,
  pods: z.int(),
  containerMemory: quantity,
});
const limitsChange = z
  .strictObject({
    cpu: z.string().max(200).nullable(),
    memory: z.string().max(200).nullable(),
    storage: z.string().max(200).nullable(),
    pods: z.number().nullable(),
    containerMemory: z.string().max(200).nullable(),
  })
  .partial()
  .nullable();
/** The name of an image, or the address of a registry. */
const reference = z.string().max(1000).nullable();

/** `GET /api/v1/platform/config`: the active settings, including defaults. */
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
  /** The domains outside the apps domain in which projects may choose hosts; without `projects`, all may. */
  hostDomains: z.array(z.object({ domain: z.string(), projects: z.array(z.string()).optional() })),
  /** Whether a DNS record also allows a project to use a host. */
  hostProofs: z.boolean(),
  defaultLimits: limits,
  /** The highest limits that members may set for an environment; platform admins may set higher ones. */
  maxLimits: limits,
  /** How many projects a user may create; platform admins may create more. */
  projectsPerUser: z.int(),
  /** The generic pods of a pool, from which functions start fast; 0: none. */
  warmPods: z.int(),
  /** The images of the function runtimes, and of the types of services that the installation can run. */
  runtimeImages: z.object({ node: z.string(), python: z.string().optional() }).optional(),
  serviceImages: z
    .object({ postgres: z.string(), mysql: z.string(), redis: z.string(), minio: z.string(), mongodb: z.string() })
    .partial()
    .optional(),
  /** Where dependencies come from: an npm registry, a Python index, a proxy of Go modules; absent: the public ones. */
  packageRegistries: z.object({ npm: z.string(), pypi: z.string(), go: z.string() }).partial().optional(),
  /** CAs that builds, installations of dependencies and git trust besides the public ones, in PEM. */
  caCertificates: z.string().optional(),
  /** Absent: the installation cannot build from git. */
  builds: z
    .object({
      image: z.string(),
      registry: z.string(),
      pushAddress: z.string().optional(),
      gitNetworks: z.array(z.string()),
      atOnce: z.int(),
      timeoutSeconds: z.int(),
      /** How many images of each app's rollback history the clean-up keeps. */
      keepImages: z.int(),
    })
    .optional(),
  /**
   * The status of the last change: `accepted` is active, `pending` is not checked yet, `refused` is not active; `message`
   * says why.
   */
  status: z.enum(['accepted', 'pending', 'refused']),
  message: z.string().optional(),
});

export type PlatformConfigView = z.infer<typeof platformConfigView>;

const networksChange = z.array(z.string().max(200)).max(200);
const hostDomainsChange = z
  .array(
    z.strictObject({ domain: z.string().max(300), projects: z.array(z.string().max(100)).max(500).exactOptional() }),
  )
  .max(500);

/**
 * `PATCH /api/v1/platform/config`: absent fields keep their value, lists are replaced as a whole, null restores the
 * default. Values are checked together (422), so the schema says little about them.
 */
export const platformConfigUpdate = z
  .strictObject({
    profile: z.string().max(50).nullable(),
    trustedProxies: networksChange.nullable(),
    allowPrivateNetworks: networksChange.nullable(),
    notificationNetworks: networksChange.nullable(),
    hostDomains: hostDomainsChange.nullable(),
    hostProofs: z.boolean().nullable(),
    defaultLimits: limitsChange,
    maxLimits: limitsChange,
    projectsPerUser: z.number().nullable(),
    /** The generic pods of a pool; 0 turns them off. */
    warmPods: z.number().nullable(),
    /** The image of each type of service; null disables services of that type. */
    serviceImages: z
      .strictObject({ postgres: reference, mysql: reference, redis: reference, minio: reference, mongodb: reference })
      .partial(),
    packageRegistries: z.strictObject({ npm: reference, pypi: reference, go: reference }).partial(),
    /** PEM of CA certificates for builds, dependencies and git, of at most 64 KiB in all; null trusts the public CAs only. */
    caCertificates: z.string().max(100_000).nullable(),
    /** Only for an installation that builds; `svc install` sets the builder image and the registry. */
    builds: z
      .strictObject({
        atOnce: z.number().nullable(),
        timeoutSeconds: z.number().nullable(),
        keepImages: z.number().nullable(),
        gitNetworks: networksChange.nullable(),
      })
      .partial(),
    /** Cannot change while hosts use it; setting the current value is allowed. */
    appsDomain: z.string().max(1000),
    /** Cannot change while hosts use it, like `appsDomain`. */
    cluster: z.string().max(1000),
    /** The lists as the caller saw them. The settings change only if these lists are the same now; 409 `conflict` otherwise. Default: any. */
    replaces: z
      .strictObject({
        trustedProxies: networksChange,
        allowPrivateNetworks: networksChange,
        notificationNetworks: networksChange,
        hostDomains: hostDomainsChange,
        builds: z.strictObject({ gitNetworks: networksChange }).partial(),
      })
      .partial(),
  })
  .partial();

export type PlatformConfigUpdate = z.infer<typeof platformConfigUpdate>;
