import { z } from 'zod';
import { certificatesMaxBytes } from '../../domain/certificates.ts';
import {
  buildTimeoutRange,
  imageMakers,
  keptImagesRange,
  platformProfiles,
  profileWarmPods,
  warmPodsMax,
} from '../../domain/platform-profile.ts';
import { Problem } from '../../domain/problem.ts';
import type { Condition, KubeObject } from '../kubernetes.ts';
import type { FunctionSource } from './function.ts';
import { monitoringSettings, type ComponentStatus } from './monitoring.ts';
import { environmentLimits } from './project.ts';

/** The installation's settings; there is one, named `platform`. */
export const platformConfigName = 'platform';

/** Scheme, host and optional port; no user, path, query or trailing slash. */
export const ingressAddressPattern = /^https?:\/\/[A-Za-z0-9.-]+(:[0-9]{1,5})?$/;

/** A network in CIDR notation or an address; `checkPlatformConfig` validates it. */
const network = z.string().max(50);

/** An address without user, query and fragment. */
const registryAddress = z
  .string()
  .max(300)
  .regex(/^https?:\/\/[A-Za-z0-9.-]+(:[0-9]{1,5})?(\/[A-Za-z0-9._~/-]*)?$/);

const imageReference = z.string().min(1).max(512);

/** Default number of concurrent builds: each may take 2 GiB. */
export const defaultBuildsAtOnce = 2;

/** Default time limit of a build, in seconds. */
export const defaultBuildTimeoutSeconds = 25 * 60;

/** Default number of images of an app that the clean-up keeps: rollbacks restore the environments of as many revisions. */
export const defaultKeptImages = 10;

/** How images of git sources are built. */
const buildSettings = z.object({
  /** The builder image. */
  image: imageReference,
  /** Prefix of the names of built images, as nodes pull them: `registry.example.com/builds`. */
  registry: z
    .string()
    .max(300)
    .regex(/^[a-z0-9]+(?:[.-][a-z0-9]+)*(?::[0-9]{1,5})?(?:\/[a-z0-9]+(?:[._-][a-z0-9]+)*)+$/),
  /** The address of that registry for build pods; default `https://` and its host. */
  pushAddress: z.string().max(300).regex(ingressAddressPattern).exactOptional(),
  /** How images are made: with buildah, the default, or as the folders that the embedded cluster runs. */
  maker: z.enum(imageMakers).exactOptional(),
  /** Base images for repositories without a Dockerfile. */
  baseImages: z.object({ node: imageReference, python: imageReference, go: imageReference }).partial(),
  /** Private networks, including loopback, that may contain git servers; default none. */
  gitNetworks: z.array(network).max(50).exactOptional(),
  /** Number of concurrent builds; further builds wait. Default {@link defaultBuildsAtOnce}. */
  atOnce: z.int().min(1).max(100).exactOptional(),
  /** Time limit of a build from its start, in seconds. Default {@link defaultBuildTimeoutSeconds}. */
  timeoutSeconds: z.int().min(buildTimeoutRange.min).max(buildTimeoutRange.max).exactOptional(),
  /** How many images of each app's rollback history the clean-up keeps. Default {@link defaultKeptImages}. */
  keepImages: z.int().min(keptImagesRange.min).max(keptImagesRange.max).exactOptional(),
});

export type BuildSettings = z.infer<typeof buildSettings>;

/** Default number of projects that a user may create: more than a person looks after, and few enough for a cluster. */
export const defaultProjectsPerUser = 20;

export const platformConfigSpec = z.object({
  /** The domain under which public app and function URLs are served. */
  appsDomain: z.string(),
  /** The cluster's name in function hosts, docs/reference/resources.md#hosts. */
  cluster: z.string(),
  /** How clients reach the ingress. */
  scheme: z.enum(['http', 'https']).default('https'),
  /** The ingress port for clients; default: the port of the scheme. */
  publicPort: z.int().min(1).max(65_535).optional(),
  /** The Traefik entry points that serve public routes. */
  entryPoints: z.array(z.string()).min(1).default(['websecure']),
  /**
   * The address of the ingress inside the cluster, such as `http://traefik.kube-system.svc:80`. The platform uses it to check
   * whether a route requires a key. Without it, a gate stays `applying`.
   */
  ingressAddress: z.string().max(300).regex(ingressAddressPattern).optional(),
  /** The image of each function runtime; one may be absent. */
  runtimeImages: z.object({ node: z.string(), python: z.string().exactOptional() }),
  /** The image of each type of managed service; types without one are not available. */
  serviceImages: z
    .object({
      postgres: imageReference,
      mysql: imageReference,
      redis: imageReference,
      minio: imageReference,
      mongodb: imageReference,
    })
    .partial()
    .exactOptional(),
  /** Where dependencies come from; default: the public registries. Readable by all users, so without credentials. */
  packageRegistries: z
    .object({ npm: registryAddress, pypi: registryAddress, go: registryAddress })
    .partial()
    .exactOptional(),
  /** CAs that builds, installations of dependencies and git trust besides the public ones, in PEM. Readable by all users. */
  caCertificates: z.string().max(certificatesMaxBytes).exactOptional(),
  /** Default {@link defaultProfile}. */
  profile: z.enum(platformProfiles).exactOptional(),
  /** The generic pods of a pool, from which functions start fast; 0 turns them off. Default: {@link profileWarmPods}. */
  warmPods: z.int().min(0).max(warmPodsMax).exactOptional(),
  /** Proxies in front of the ingress that are trusted to report the client's address, for keys and logins; default none. */
  trustedProxies: z.array(network).max(50).exactOptional(),
  /** Private networks that pods may reach besides the internet; default none. */
  allowPrivateNetworks: z.array(network).max(50).exactOptional(),
  /** Private networks that notifications may be sent to besides the internet; default none. */
  notificationNetworks: z.array(network).max(50).exactOptional(),
  /** Domains outside the apps domain in which projects may choose hosts, including all names below them; default none. */
  hostDomains: z
    .array(
      z.object({
        domain: z.string().max(253),
        /** The projects that may; default: all of them. */
        projects: z.array(z.string().max(50)).min(1).max(500).exactOptional(),
      }),
    )
    .max(500)
    .exactOptional(),
  /** Whether a DNS record (`_svc-challenge.<host>`) also allows a project to use a host; default true. */
  hostProofs: z.boolean().exactOptional(),
  /** Default limits of environments; absent fields have the platform's default. */
  defaultLimits: environmentLimits.exactOptional(),
  /** The highest limits that members may set for an environment; absent fields have the platform's ceiling. */
  maxLimits: environmentLimits.exactOptional(),
  /** How many projects a user who is no platform admin may create. Default {@link defaultProjectsPerUser}. */
  projectsPerUser: z.int().min(0).max(10_000).exactOptional(),
  /** Required for builds from git sources. */
  builds: buildSettings.exactOptional(),
  /** Absent: the installation has no components of monitoring. */
  monitoring: monitoringSettings.exactOptional(),
});

export type PlatformConfigSpec = z.infer<typeof platformConfigSpec>;

/** The types of services that the platform can run if it has their images. */
export type ServerType = keyof NonNullable<PlatformConfigSpec['serviceImages']>;

export interface PlatformConfig extends KubeObject {
  apiVersion: 'platform.svc/v1';
  kind: 'PlatformConfig';
  spec: PlatformConfigSpec;
  status?: PlatformConfigStatus;
}

export interface PlatformConfigStatus {
  observedGeneration?: number;
  /** The active settings: the last valid ones, and the object's generation with them. */
  accepted?: { generation: number; spec: PlatformConfigSpec };
  conditions?: Condition[];
  /** The components of monitoring that the installation can run. */
  monitoring?: ComponentStatus[];
  /** The object's generation with the settings that these components follow. */
  monitoringGeneration?: number;
}

/** The condition that says whether the settings in the spec are active. */
export const acceptedCondition = 'Accepted';

/**
 * The image that runs a function: its own, or its runtime's. @throws Problem `invalid_value` if the installation has no
 * image for the runtime
 */
export function functionImage(
  { runtimeImages }: Pick<PlatformConfigSpec, 'runtimeImages'>,
  { image, runtime = 'node' }: FunctionSource,
): string {
  const reference = image ?? runtimeImages[runtime];
  if (reference !== undefined) return reference;
  throw new Problem(
    'invalid_value',
    `This installation has no image for functions in ${runtime}; run \`svc install\` again with --image-function-${runtime}.`,
    { details: { field: 'runtime' } },
  );
}

/** The number of generic pods of a pool: none in the embedded cluster, whose pods share the port that they wait on. */
export function warmPodsOf({
  warmPods,
  profile,
  monitoring,
}: Pick<PlatformConfigSpec, 'warmPods' | 'profile' | 'monitoring'>): number {
  return monitoring?.mode === 'embedded' ? 0 : (warmPods ?? profileWarmPods(profile));
}

/** The public URL of a host, without a trailing slash. */
export function publicUrl(config: Pick<PlatformConfigSpec, 'scheme' | 'publicPort'>, host: string): string {
  const ownPort = config.scheme === 'https' ? 443 : 80;
  const port = config.publicPort === undefined || config.publicPort === ownPort ? '' : `:${config.publicPort}`;
  return `${config.scheme}://${host}${port}`;
}
