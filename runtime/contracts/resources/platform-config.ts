import { z } from 'zod';
import { Problem } from '../../domain/problem.ts';
import type { Condition, KubeObject } from '../kubernetes.ts';
import type { FunctionSource } from './function.ts';
import { environmentLimits } from './project.ts';

/** The installation's settings; there is one, named `platform`. */
export const platformConfigName = 'platform';

/** Scheme, host and perhaps a port; no user, path or query, and no slash at the end. */
export const ingressAddressPattern = /^https?:\/\/[A-Za-z0-9.-]+(:[0-9]{1,5})?$/;

/** How large the installation is, which decides what monitoring may use (spec.md §8). */
export const platformProfiles = ['nano', 'small', 'medium', 'large', 'xlarge'] as const;

export type PlatformProfile = (typeof platformProfiles)[number];

/** The profile of an installation that names none. */
export const defaultProfile: PlatformProfile = 'small';

/** A network in CIDR notation or an address; `checkPlatformConfig` judges what it says. */
const network = z.string().max(50);

/** An address without user, query and fragment. */
const registryAddress = z
  .string()
  .max(300)
  .regex(/^https?:\/\/[A-Za-z0-9.-]+(:[0-9]{1,5})?(\/[A-Za-z0-9._~/-]*)?$/);

const imageReference = z.string().min(1).max(512);

/** How many builds go on at once in an installation that says nothing of it: each may take 2 GiB. */
export const defaultBuildsAtOnce = 2;

/** How long a build may take that nobody said more of, in seconds. */
export const defaultBuildTimeoutSeconds = 25 * 60;

/** Of every time-out of builds, in seconds: there are pods to be started, and places that others wait for. */
export const buildTimeoutRange = { min: 10, max: 86_400 };

/** How images of git sources are built. */
export const buildSettings = z.object({
  /** What the pods of builds run. */
  image: imageReference,
  /** What the names of built images begin with, as nodes pull them: `registry.example.com/builds`. */
  registry: z
    .string()
    .max(300)
    .regex(/^[a-z0-9]+(?:[.-][a-z0-9]+)*(?::[0-9]{1,5})?(?:\/[a-z0-9]+(?:[._-][a-z0-9]+)*)+$/),
  /** Where the pods of builds reach that registry; default `https://` and its host. */
  pushAddress: z.string().max(300).regex(ingressAddressPattern).exactOptional(),
  /** What an image is made on whose repository has no Dockerfile. */
  baseImages: z.object({ node: imageReference, python: imageReference }).partial(),
  /** Private networks, loopback included, that git servers may be in; default none. */
  gitNetworks: z.array(network).max(50).exactOptional(),
  /** How many builds go on at once; the others wait. Default {@link defaultBuildsAtOnce}. */
  atOnce: z.int().min(1).max(100).exactOptional(),
  /** How long a build may take from its start, in seconds. Default {@link defaultBuildTimeoutSeconds}. */
  timeoutSeconds: z.int().min(buildTimeoutRange.min).max(buildTimeoutRange.max).exactOptional(),
});

export type BuildSettings = z.infer<typeof buildSettings>;

export const platformConfigSpec = z.object({
  /** The domain under which public app and function URLs are served. */
  appsDomain: z.string(),
  /** The cluster's name in function hosts (spec.md §4.6). */
  cluster: z.string(),
  /** How clients reach the ingress. */
  scheme: z.enum(['http', 'https']).default('https'),
  /** The ingress port as clients see it, when it is not the scheme's own. */
  publicPort: z.int().min(1).max(65_535).optional(),
  /** Traefik's entry points that serve public routes. */
  entryPoints: z.array(z.string()).min(1).default(['websecure']),
  /**
   * Where the ingress answers inside the cluster, such as `http://traefik.kube-system.svc:80`: there the platform asks
   * whether a route demands a key. Absent: nobody can be asked, and a gate stays `applying`.
   */
  ingressAddress: z.string().max(300).regex(ingressAddressPattern).optional(),
  /** The image of each function runtime; an installation from before there was Python has none for it. */
  runtimeImages: z.object({ node: z.string(), python: z.string().exactOptional() }),
  /** The image of each type of service that the platform can run; a type without one is refused. */
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
  /** Where dependencies of functions come from; default the public registries. Everybody may read it: no credentials. */
  packageRegistries: z.object({ npm: registryAddress, pypi: registryAddress }).partial().exactOptional(),
  /** Default {@link defaultProfile}. */
  profile: z.enum(platformProfiles).exactOptional(),
  /** Proxies in front of the ingress whose word on the client's address counts, for keys and logins; default none. */
  trustedProxies: z.array(network).max(50).exactOptional(),
  /** Private networks that pods of environments may reach, beside the internet; default none. */
  allowPrivateNetworks: z.array(network).max(50).exactOptional(),
  /** Private networks to which notifications may be sent, beside the internet; default none. */
  notificationNetworks: z.array(network).max(50).exactOptional(),
  /** Limits of environments that set none themselves; what is absent here is the platform's own default. */
  defaultLimits: environmentLimits.exactOptional(),
  /** Without it nothing can be built from a git source. */
  builds: buildSettings.exactOptional(),
});

export type PlatformConfigSpec = z.infer<typeof platformConfigSpec>;

/** The types of services that the platform can run where it has their images. */
export type ServerType = keyof NonNullable<PlatformConfigSpec['serviceImages']>;

export interface PlatformConfig extends KubeObject {
  apiVersion: 'platform.svc/v1';
  kind: 'PlatformConfig';
  spec: PlatformConfigSpec;
  status?: PlatformConfigStatus;
}

export interface PlatformConfigStatus {
  observedGeneration?: number;
  /** The settings in force: the last good ones, and the generation of the object that brought them. */
  accepted?: { generation: number; spec: PlatformConfigSpec };
  conditions?: Condition[];
}

/** The condition that tells whether the settings of the object's spec are in force. */
export const acceptedCondition = 'Accepted';

/**
 * The image that runs a function: its own, or its runtime's. @throws Problem `invalid_value` where the installation has
 * none for the runtime
 */
export function functionImage(
  { runtimeImages }: Pick<PlatformConfigSpec, 'runtimeImages'>,
  { image, runtime = 'node' }: FunctionSource,
): string {
  const found = image ?? runtimeImages[runtime];
  if (found !== undefined) return found;
  throw new Problem(
    'invalid_value',
    `This installation has no image for functions in ${runtime}; run \`svc install\` again with --image-function-${runtime}.`,
    { details: { field: 'runtime' } },
  );
}

/** The public address of a host under this configuration, without a trailing slash. */
export function publicUrl(config: Pick<PlatformConfigSpec, 'scheme' | 'publicPort'>, host: string): string {
  const ownPort = config.scheme === 'https' ? 443 : 80;
  const port = config.publicPort === undefined || config.publicPort === ownPort ? '' : `:${config.publicPort}`;
  return `${config.scheme}://${host}${port}`;
}
