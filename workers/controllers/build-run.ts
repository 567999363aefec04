import type { BatchJob } from '../../infra/manifests/batch.ts';
import { buildCredentials, buildJob, buildSteps } from '../../infra/manifests/build.ts';
import { buildPolicy } from '../../infra/manifests/environment-network.ts';
import type { Stored } from '../../runtime/contracts/kubernetes.ts';
import type { ContainerStatus, Pod } from '../../runtime/contracts/pod.ts';
import type { App } from '../../runtime/contracts/resources/app.ts';
import type { Build, BuildStatus } from '../../runtime/contracts/resources/build.ts';
import { kinds } from '../../runtime/contracts/resources/kinds.ts';
import {
  defaultBuildTimeoutSeconds,
  type PlatformConfigSpec,
} from '../../runtime/contracts/resources/platform-config.ts';
import { durationText } from '../../runtime/domain/duration.ts';
import { buildNamespace } from '../../runtime/domain/labels.ts';
import { Problem } from '../../runtime/domain/problem.ts';
import type { Id } from '../../runtime/domain/ids.ts';
import { readGitSecret } from '../../runtime/git/credentials.ts';
import { applyObject, deleteChild, ensureChild, refOf } from '../../runtime/kube/children.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import type { V1JobSpec } from '@kubernetes/client-node';
import { z } from 'zod';
import { apiServerAddresses } from './api-servers.ts';
import { isUntrusted, untrustedAdvice } from './dependency-failure.ts';
import { errorLine } from './log-summary.ts';

/** Maximum lines of a failed step's log in the message; the deployment's log has all. */
const reasonMaxLines = 8;
const lineMax = 200;
/** A line that buildah prints after every failed step, twice. */
const noise = /^subprocess exited with status \d+$/;

/** What the Build controller reads from and writes to PostgreSQL. */
export interface BuildRecords {
  /** A new token for the deployment's uploaded files; undefined when it is no longer to be built. */
  issueSourceToken(deploymentId: Id): Promise<string | undefined>;
}

/** The termination messages of the steps that fetch and push, written by `infra/images/builder/main.ts`. */
const image = z.object({
  image: z.string().max(600),
  digest: z.string().regex(/^sha256:[0-9a-f]{64}$/),
  sizeBytes: z.int().min(0).exactOptional(),
});
const source = z.object({
  commit: z.string().regex(/^[0-9a-f]{40,64}$/),
  commitMessage: z.string().max(300),
  commitAuthor: z.string().max(200),
});
/** An uploaded folder has no commit of its own. */
const upload = z.object({ files: z.int() }).transform(() => ({}));

/** The settings of the installation that builds need. */
export type BuildConfig = Pick<
  PlatformConfigSpec,
  'builds' | 'allowPrivateNetworks' | 'packageRegistries' | 'caCertificates'
>;

/**
 * Creates the batch Job of a build after its network policy and the credentials of its first step. An existing Job is
 * kept, because it cannot change.
 * @throws Problem `service_not_installed` while the installation has no builder, ForeignObjectError
 */
export async function beginBuild(
  { kube, records }: { kube: KubeClient; records: BuildRecords },
  build: Stored<Build>,
  config: BuildConfig | undefined,
): Promise<void> {
  const { name } = build.metadata;
  if (await kube.get<BatchJob>(kinds.BatchJob, name, buildNamespace)) return;
  if (!config?.builds) {
    throw new Problem(
      'service_not_installed',
      'Builds are not enabled. An administrator enables them with `svc install --image-builder` and `--build-registry`.',
    );
  }
  await applyObject(
    kube,
    buildPolicy({
      apiServers: await apiServerAddresses(kube),
      allowPrivateNetworks: [...(config.allowPrivateNetworks ?? []), ...(config.builds.gitNetworks ?? [])],
      registryAddress: config.builds.pushAddress,
    }),
  );
  const credentials = await credentialsOf({ kube, records }, build);
  if (credentials) await ensureChild(kube, build, buildCredentials(build, credentials));
  await ensureChild(kube, build, buildJob(build, config.builds, config));
}

/** What the first step needs to fetch the source: the app's git credentials, or a token for the uploaded files. */
async function credentialsOf(
  { kube, records }: { kube: KubeClient; records: BuildRecords },
  { spec: { app, namespace, deploymentId, source } }: Stored<Build>,
): Promise<Record<string, string> | undefined> {
  if (source.url !== undefined) {
    const resource = await kube.get<App>(kinds.App, app, namespace);
    return resource && readGitSecret(kube, resource, source.url);
  }
  // An interrupted reconcile has issued a token that no pod has; the new one replaces it.
  const token = deploymentId === undefined ? undefined : await records.issueSourceToken(deploymentId);
  return token === undefined ? undefined : { sourceToken: Buffer.from(token).toString('base64') };
}

/** Deletes the credentials after the step that needs them has ended. */
export async function dropCredentials(
  kube: KubeClient,
  build: Stored<Build>,
  pods: readonly Stored<Pod>[],
): Promise<void> {
  const fetched = pods.some((pod) => stepOf(pod, buildSteps.clone)?.state?.terminated !== undefined);
  if (fetched) await deleteChild(kube, build, refOf(buildCredentials(build, {})));
}

/**
 * The result of a build from its pod's termination messages; undefined without one. The step that runs the source's own
 * code reports nothing.
 */
export function resultOf(pods: readonly Stored<Pod>[]): Partial<BuildStatus> | undefined {
  for (const pod of pods) {
    const pushed = reportOf(pod, buildSteps.push, image);
    const fetched = reportOf(pod, buildSteps.clone, z.union([source, upload]));
    if (pushed && fetched) return { ...pushed, ...fetched };
  }
  return undefined;
}

function reportOf<Report>(pod: Pod, step: string, schema: z.ZodType<Report>): Report | undefined {
  try {
    return schema.safeParse(JSON.parse(stepOf(pod, step)?.state?.terminated?.message ?? '')).data;
  } catch {
    // The message is the log of a failure.
    return undefined;
  }
}

/**
 * The message for a build that exceeded its time-out; undefined for any other. It takes precedence over the pod's
 * message, because the pod was stopped. Pure.
 */
export function timeOutOf({ status, spec }: BatchJob): string | undefined {
  const late = status?.conditions?.some(({ type, reason }) => type === 'Failed' && reason === 'DeadlineExceeded');
  if (!late) return undefined;
  const { activeDeadlineSeconds = defaultBuildTimeoutSeconds } = spec as Pick<V1JobSpec, 'activeDeadlineSeconds'>;
  return `The build exceeded its timeout of ${durationText(activeDeadlineSeconds)} and was stopped; check its log. An administrator can raise the timeout: svc platform config set --build-timeout.`;
}

/** What failed, by step. */
const failures = [
  [buildSteps.clone, 'The source could not be fetched'],
  [buildSteps.build, 'The image could not be built'],
  [buildSteps.push, 'The image could not be pushed'],
] as const;

/** Why a step of the build failed, followed by the last lines of its log; undefined when no step failed. */
export function failureOf(pods: readonly Stored<Pod>[]): string | undefined {
  for (const pod of pods) {
    for (const [name, failure] of failures) {
      const ended = stepOf(pod, name)?.state?.terminated;
      if (!ended || ended.exitCode === 0) continue;
      if (ended.reason === 'OOMKilled') return `The step "${name}" exceeded its memory limit.`;
      const lines = (ended.message ?? '')
        .trim()
        .split('\n')
        .filter((line) => line !== '' && !noise.test(line));
      const reason = errorLine(lines.join('\n')) || `the step exited with code ${ended.exitCode}`;
      // The last line is the reason, which was quoted.
      if (lines.at(-1) === reason) lines.pop();
      const log = lines.slice(-reasonMaxLines).map((line) => line.slice(0, lineMax));
      const advice = isUntrusted(log.join('\n')) ? [`The certificate is not trusted. ${untrustedAdvice}`] : [];
      return [
        `${failure}: ${reason}`,
        ...advice,
        ...(log.length > 0 ? ['The last lines of its log:', ...log] : []),
      ].join('\n');
    }
  }
  return undefined;
}

function stepOf({ status }: Pod, name: string): ContainerStatus | undefined {
  const statuses = [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])];
  return statuses.find((status) => status.name === name);
}
