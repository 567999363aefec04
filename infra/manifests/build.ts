import type { V1Container, V1EnvVar, V1Secret, V1Volume, V1VolumeMount } from '@kubernetes/client-node';
import type { Build } from '../../runtime/contracts/resources/build.ts';
import { defaultBuildTimeoutSeconds, type BuildSettings } from '../../runtime/contracts/resources/platform-config.ts';
import type { BuiltIn, Json } from '../../runtime/contracts/kubernetes.ts';
import { sourcePath } from '../../runtime/domain/source-stream.ts';
import { appLabel, buildNamespace, idLabel, roleLabel, systemNamespace } from '../../runtime/domain/labels.ts';
import type { BatchJob } from './batch.ts';
import { eventsService } from './platform/network.ts';
import { containerSecurity } from './platform/pod.ts';
import { registryVariables, type PackageRegistries, type PackageSources } from './package-registries.ts';

/** The containers of a build's pod, in the order in which they run; the first is there when the app has an earlier image. */
export const buildSteps = { restore: 'restore', clone: 'clone', build: 'build', push: 'push' } as const;

/** The user of the image `builder`. */
const user = 10_001;
/** Where the credentials of the app's git source are mounted, in the first step only. */
const credentialsFolder = '/credentials';
const workspace = '/workspace';
/**
 * Secrets with registry credentials, which an administrator can create: one for the push, one for the base images that builds
 * pull, which every RUN step can read, and one that svc-workers reads to delete images. The push's is read by no process.
 * https://kubernetes.io/docs/tasks/configure-pod-container/pull-image-private-registry/
 */
export const registrySecrets = {
  push: 'svc-registry',
  base: 'svc-base-registry',
  delete: 'svc-registry-delete',
} as const;
/** The key of their Docker configuration file. */
export const registryFileKey = '.dockerconfigjson';
const registryFolder = '/registry';

const size = {
  requests: { cpu: '100m', memory: '256Mi' },
  limits: { cpu: '2', memory: '2Gi', 'ephemeral-storage': '10Gi' },
};

/**
 * The tag of a build's image. It ends in the random part of the deployment's id, because a registry keeps images for longer
 * than projects exist: a user who creates a project under a deleted one's name cannot guess what its images were called, and
 * no Dockerfile can name another project's.
 */
function imageTag({ metadata, spec: { revision, deploymentId } }: Build): string {
  if (revision === undefined || deploymentId === undefined) return metadata.name;
  return `${revision}-${deploymentId.replaceAll('-', '').slice(-16)}`;
}

/** The names of a build's image: the one that nodes pull, and the one that is pushed. Pure. */
function imageNames(
  build: Build,
  { registry, pushAddress }: Pick<BuildSettings, 'registry' | 'pushAddress'>,
): { image: string; target: string; plainHttp: boolean } {
  const { metadata, spec } = build;
  const name = `${spec.namespace ?? metadata.namespace ?? ''}/${spec.app}:${imageTag(build)}`;
  const push = pushAddress === undefined ? undefined : new URL(pushAddress);
  const path = registry.slice(registry.indexOf('/'));
  return {
    image: `${registry}/${name}`,
    target: push === undefined ? `${registry}/${name}` : `${push.host}${path}/${name}`,
    plainHttp: push?.protocol === 'http:',
  };
}

/**
 * The batch Job that builds an image in up to four containers, none of which gets a token for the Kubernetes API. The first
 * reads the app's last image from the registry, before anything of the source is there. The second fetches the source, with
 * the credentials in the Secret `<name>` if there is one. The third runs the source's own build steps, which strangers
 * wrote, and has no credentials. The last pushes the image with the registry's. Pure.
 */
export function buildJob(
  build: Build,
  settings: BuildSettings,
  { packageRegistries, caCertificates }: PackageSources = {},
): BatchJob {
  const { app, deploymentId, cacheDigest, timeoutSeconds = defaultBuildTimeoutSeconds } = build.spec;
  const { name } = build.metadata;
  const labels = {
    [appLabel]: app,
    [roleLabel]: 'build',
    [idLabel]: deploymentId ?? build.metadata.labels?.[idLabel] ?? '',
  };
  const env = [
    ...buildVariables(build, settings),
    ...(caCertificates === undefined ? [] : [{ name: 'BUILD_CA_CERTIFICATES', value: caCertificates }]),
  ];
  return {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: { name, namespace: buildNamespace, labels },
    spec: {
      backoffLimit: 0,
      activeDeadlineSeconds: timeoutSeconds,
      template: {
        metadata: { labels: { ...labels, 'app.kubernetes.io/managed-by': 'kipper' } },
        spec: {
          restartPolicy: 'Never',
          automountServiceAccountToken: false,
          enableServiceLinks: false,
          terminationGracePeriodSeconds: 5,
          securityContext: { runAsNonRoot: true, runAsUser: user, runAsGroup: user, fsGroup: user },
          initContainers: [
            ...(cacheDigest === undefined ? [] : [registryContainer(settings.image, env, 'restore')]),
            cloneContainer(settings.image, env),
            buildContainer(settings.image, env, packageRegistries),
          ],
          containers: [registryContainer(settings.image, env, 'push')],
          volumes: [
            { name: 'workspace', emptyDir: { sizeLimit: '10Gi' } },
            // One for each step, so that none finds what another left; the push unpacks the image.
            ...Object.values(buildSteps)
              .filter((step) => step !== 'restore' || cacheDigest !== undefined)
              .map((step) => ({ name: `tmp-${step}`, emptyDir: { sizeLimit: step === 'push' ? '10Gi' : '1Gi' } })),
            secretVolume('credentials', name),
            secretVolume('registry-push', registrySecrets.push),
            secretVolume('registry-base', registrySecrets.base),
          ],
        },
      },
    },
  };
}

/** The variables that `infra/images/builder/settings.ts` reads. */
function buildVariables(build: Build, settings: BuildSettings): V1EnvVar[] {
  const { source } = build.spec;
  const { image, target, plainHttp } = imageNames(build, settings);
  return Object.entries({
    BUILD_WORKSPACE: workspace,
    BUILD_CREDENTIALS: credentialsFolder,
    BUILD_URL: source.url,
    BUILD_SOURCE_URL: source.upload === true ? sourceUrl(build) : undefined,
    BUILD_BRANCH: source.branch,
    BUILD_COMMIT: source.commit,
    BUILD_PATH: source.path,
    BUILD_DOCKERFILE: source.dockerfile,
    BUILD_HOST_KEYS: source.hostKeys?.join('\n'),
    BUILD_GIT_NETWORKS: settings.gitNetworks?.join(','),
    BUILD_IMAGE: image,
    BUILD_TARGET: target,
    BUILD_CACHE_DIGEST: build.spec.cacheDigest,
    BUILD_PLAIN_HTTP: String(plainHttp),
    BUILD_BASE_NODE: settings.baseImages.node,
    BUILD_BASE_PYTHON: settings.baseImages.python,
    BUILD_BASE_GO: settings.baseImages.go,
    BUILD_RESULT: '/dev/termination-log',
  }).flatMap(([name, value]) => (value === undefined ? [] : [{ name, value }]));
}

/** Where the uploaded files of the build's deployment are. */
function sourceUrl({ spec: { deploymentId = '' } }: Build): string {
  return `http://${eventsService}.${systemNamespace}.svc${sourcePath(deploymentId)}`;
}

function secretVolume(name: string, secretName: string): Json<V1Volume> {
  return { name, secret: { secretName, optional: true, defaultMode: 0o440 } };
}

function workspaceMounts(step: keyof typeof buildSteps): V1VolumeMount[] {
  return [
    { name: 'workspace', mountPath: workspace },
    { name: `tmp-${step}`, mountPath: '/tmp' },
  ];
}

/** A step's registry credentials. */
function registryMount(secret: 'push' | 'base'): V1VolumeMount {
  return { name: `registry-${secret}`, mountPath: registryFolder, readOnly: true };
}

const registryFile = { name: 'REGISTRY_AUTH_FILE', value: `${registryFolder}/${registryFileKey}` };

/** The fields that the containers share. */
function stepContainer(image: string, env: V1EnvVar[], step: keyof typeof buildSteps): Json<V1Container> {
  return {
    image,
    env,
    resources: size,
    // Puts the last log lines into the pod's status, where a failed build finds the reason.
    terminationMessagePolicy: 'FallbackToLogsOnError',
    name: buildSteps[step],
    args: [buildSteps[step]],
  };
}

function cloneContainer(image: string, env: V1EnvVar[]): V1Container {
  return {
    ...stepContainer(image, env, 'clone'),
    securityContext: { ...containerSecurity, seccompProfile: { type: 'RuntimeDefault' } },
    volumeMounts: [...workspaceMounts('clone'), { name: 'credentials', mountPath: credentialsFolder, readOnly: true }],
  };
}

/** A step with the credentials of the registry, which runs no code of the source. */
function registryContainer(image: string, env: V1EnvVar[], step: 'restore' | 'push'): V1Container {
  return {
    ...stepContainer(image, env, step),
    env: [...env, registryFile],
    securityContext: { ...containerSecurity, seccompProfile: { type: 'RuntimeDefault' } },
    volumeMounts: [...workspaceMounts(step), registryMount('push')],
  };
}

/** buildah needs no right on the node, but creates a user namespace, which the runtime's default profile forbids. */
function buildContainer(image: string, env: V1EnvVar[], registries?: PackageRegistries): V1Container {
  return {
    ...stepContainer(image, env, 'build'),
    env: [
      ...env,
      registryFile,
      // Also passed on as build arguments of the same names: `infra/images/builder/container-image.ts`.
      ...(['npm', 'pypi', 'go'] as const).flatMap((name) => registryVariables(registries, name)),
    ],
    securityContext: {
      // newuidmap, which maps the users of the user namespace, needs these.
      allowPrivilegeEscalation: true,
      capabilities: { drop: ['ALL'], add: ['SETGID', 'SETUID'] },
      seccompProfile: { type: 'Unconfined' },
    },
    volumeMounts: [...workspaceMounts('build'), registryMount('base')],
  };
}

/** The Secret with the git credentials of one build. Pure. */
export function buildCredentials({ metadata: { name } }: Build, data: Record<string, string>): BuiltIn<V1Secret> {
  return { apiVersion: 'v1', kind: 'Secret', metadata: { name, namespace: buildNamespace }, type: 'Opaque', data };
}
