import type { Build } from '../../runtime/contracts/resources/build.ts';
import { defaultBuildTimeoutSeconds, type BuildSettings } from '../../runtime/contracts/resources/platform-config.ts';
import type { KubeObject } from '../../runtime/contracts/kubernetes.ts';
import { appLabel, buildNamespace, idLabel, roleLabel } from '../../runtime/domain/labels.ts';
import type { BatchJob } from './batch.ts';
import { registryVariables, type PackageRegistries } from './package-registries.ts';

/** The containers of a build's pod, in their order. */
export const buildSteps = { clone: 'clone', build: 'build' } as const;

/** Of the image `builder`. */
const user = 10_001;
/** Where the credentials of the app's git source appear, for the first step only. */
const credentialsFolder = '/credentials';
const workspace = '/workspace';
/** Credentials for the registry, which an administrator may put there. https://kubernetes.io/docs/tasks/configure-pod-container/pull-image-private-registry/ */
export const registrySecret = 'svc-registry';
const registryFolder = '/registry';

const size = {
  requests: { cpu: '100m', memory: '256Mi' },
  limits: { cpu: '2', memory: '2Gi', 'ephemeral-storage': '10Gi' },
};

/** What a build's image is called, by nodes and by who pushes it. Pure. */
export function imageNames(
  { metadata, spec: { app, namespace, revision } }: Build,
  { registry, pushAddress }: Pick<BuildSettings, 'registry' | 'pushAddress'>,
): { image: string; target: string; plainHttp: boolean } {
  const name = `${namespace ?? metadata.namespace ?? ''}/${app}:${revision ?? metadata.name}`;
  const push = pushAddress === undefined ? undefined : new URL(pushAddress);
  const path = registry.slice(registry.indexOf('/'));
  return {
    image: `${registry}/${name}`,
    target: push === undefined ? `${registry}/${name}` : `${push.host}${path}/${name}`,
    plainHttp: push?.protocol === 'http:',
  };
}

/**
 * The batch Job that makes a build's image. The first container fetches the source, and has the credentials for that if
 * `<name>` is a Secret; the second one builds what was fetched. No container gets the cluster's credentials. buildah works
 * in a user namespace of its own, which needs more than the runtime's usual profile allows, and no right on the node. Pure.
 */
export function buildJob(build: Build, settings: BuildSettings, registries?: PackageRegistries): BatchJob {
  const { name } = build.metadata;
  const { app, source, timeoutSeconds = defaultBuildTimeoutSeconds } = build.spec;
  const { image, target, plainHttp } = imageNames(build, settings);
  const env = Object.entries({
    BUILD_WORKSPACE: workspace,
    BUILD_CREDENTIALS: credentialsFolder,
    BUILD_URL: source.url,
    BUILD_BRANCH: source.branch,
    BUILD_COMMIT: source.commit,
    BUILD_PATH: source.path,
    BUILD_DOCKERFILE: source.dockerfile,
    BUILD_HOST_KEYS: source.hostKeys?.join('\n'),
    BUILD_IMAGE: image,
    BUILD_TARGET: target,
    BUILD_PLAIN_HTTP: String(plainHttp),
    BUILD_BASE_NODE: settings.baseImages.node,
    BUILD_BASE_PYTHON: settings.baseImages.python,
    BUILD_RESULT: '/dev/termination-log',
  }).flatMap(([variable, value]) => (value === undefined ? [] : [{ name: variable, value }]));
  const common = {
    image: settings.image,
    env,
    resources: size,
    // With the last lines in the pod's status, a failed build can say why.
    terminationMessagePolicy: 'FallbackToLogsOnError',
  };
  const shared = [
    { name: 'workspace', mountPath: workspace },
    { name: 'tmp', mountPath: '/tmp' },
  ];
  const labels = {
    [appLabel]: app,
    [roleLabel]: 'build',
    [idLabel]: build.spec.deploymentId ?? build.metadata.labels?.[idLabel] ?? '',
  };
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
            {
              ...common,
              name: buildSteps.clone,
              args: [buildSteps.clone],
              securityContext: {
                allowPrivilegeEscalation: false,
                readOnlyRootFilesystem: true,
                capabilities: { drop: ['ALL'] },
                seccompProfile: { type: 'RuntimeDefault' },
              },
              volumeMounts: [...shared, { name: 'credentials', mountPath: credentialsFolder, readOnly: true }],
            },
          ],
          containers: [
            {
              ...common,
              name: buildSteps.build,
              args: [buildSteps.build],
              env: [
                ...env,
                { name: 'REGISTRY_AUTH_FILE', value: `${registryFolder}/.dockerconfigjson` },
                // Their names are those of the build arguments, too: `infra/images/builder/make-container.ts`.
                ...registryVariables(registries, 'npm'),
                ...registryVariables(registries, 'pypi'),
              ],
              securityContext: {
                // newuidmap gives the user namespace its users; it is what may set them.
                allowPrivilegeEscalation: true,
                capabilities: { drop: ['ALL'], add: ['SETGID', 'SETUID'] },
                seccompProfile: { type: 'Unconfined' },
              },
              volumeMounts: [...shared, { name: 'registry', mountPath: registryFolder, readOnly: true }],
            },
          ],
          volumes: [
            { name: 'workspace', emptyDir: { sizeLimit: '10Gi' } },
            { name: 'tmp', emptyDir: { sizeLimit: '1Gi' } },
            { name: 'credentials', secret: { secretName: name, optional: true, defaultMode: 0o440 } },
            { name: 'registry', secret: { secretName: registrySecret, optional: true, defaultMode: 0o440 } },
          ],
        },
      },
    },
  };
}

/** The Secret with the credentials of one build's first step. Pure. */
export function buildCredentials({ metadata: { name } }: Build, data: Record<string, string>): KubeObject & object {
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name, namespace: buildNamespace },
    type: 'Opaque',
    data,
  } as KubeObject;
}
