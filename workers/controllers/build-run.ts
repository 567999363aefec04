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
import { readGitSecret } from '../../runtime/host/git-credentials.ts';
import { applyObject, deleteChild, ensureChild, refOf } from '../../runtime/kube/children.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import { z } from 'zod';
import { apiServerAddresses } from './api-servers.ts';
import { tellingLine } from './last-line.ts';

/** Of a failed step's log, this much is told: the rest is in the log. */
const reasonMaxLines = 8;
const lineMax = 200;
/** What buildah adds to every failed step, twice. */
const noise = /^subprocess exited with status \d+$/;

/** What a build's second step ends with; `infra/images/builder/settings.ts` writes it. */
const result = z.object({
  image: z.string().max(600),
  digest: z.string().regex(/^sha256:[0-9a-f]{64}$/),
  commit: z.string().regex(/^[0-9a-f]{40,64}$/),
  commitMessage: z.string().max(300),
  commitAuthor: z.string().max(200),
});

/**
 * Makes the batch Job of a build: first who may be reached from it, then what its first step needs, then the Job, which
 * never changes once it is there.
 * @throws Problem `unavailable` while the installation has no builder, ForeignObjectError
 */
export async function beginBuild(
  kube: KubeClient,
  build: Stored<Build>,
  config: Pick<PlatformConfigSpec, 'builds' | 'allowPrivateNetworks' | 'packageRegistries'> | undefined,
): Promise<void> {
  const { name } = build.metadata;
  if (await kube.get<BatchJob>(kinds.BatchJob, name, buildNamespace)) return;
  if (!config?.builds) {
    throw new Problem(
      'unavailable',
      'The platform has no builder: an administrator gives one with `svc install --image-builder` and `--build-registry`.',
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
  const { app, namespace, source } = build.spec;
  const found = await kube.get<App>(kinds.App, app, namespace);
  const credentials = found && (await readGitSecret(kube, found, source.url));
  if (credentials) await ensureChild(kube, build, buildCredentials(build, credentials));
  await ensureChild(kube, build, buildJob(build, config.builds, config.packageRegistries));
}

/** Takes the credentials away once the step that needed them has ended. */
export async function dropCredentials(
  kube: KubeClient,
  build: Stored<Build>,
  pods: readonly Stored<Pod>[],
): Promise<void> {
  const fetched = pods.some((pod) => stepOf(pod, buildSteps.clone)?.state?.terminated !== undefined);
  if (fetched) await deleteChild(kube, build, refOf(buildCredentials(build, {})));
}

/** What was made, as the pod's last message has it; undefined when there is no such message. */
export function resultOf(pods: readonly Stored<Pod>[]): Partial<BuildStatus> | undefined {
  for (const pod of pods) {
    const text = stepOf(pod, buildSteps.build)?.state?.terminated?.message;
    if (text === undefined) continue;
    try {
      const parsed = result.safeParse(JSON.parse(text));
      if (parsed.success) return parsed.data;
    } catch {
      // No result: the log of a failure.
    }
  }
  return undefined;
}

/**
 * That a build took too long, for one that did: before what its pod says, which was ended for that. What it printed is in
 * the deployment's log. Undefined for any other end. Pure.
 */
export function timeOutOf({ status, spec }: BatchJob): string | undefined {
  const late = status?.conditions?.some(({ type, reason }) => type === 'Failed' && reason === 'DeadlineExceeded');
  if (!late) return undefined;
  const { activeDeadlineSeconds = defaultBuildTimeoutSeconds } = spec as { activeDeadlineSeconds?: number };
  return `The build did not end within ${durationText(activeDeadlineSeconds)}, and was stopped; its log says how far it came. An administrator can give builds more time: svc platform config set --build-timeout.`;
}

/** Why a step of the build failed, in its first line, and the last lines that it printed; undefined when no step has. */
export function failureOf(pods: readonly Stored<Pod>[]): string | undefined {
  for (const pod of pods) {
    for (const name of [buildSteps.clone, buildSteps.build]) {
      const ended = stepOf(pod, name)?.state?.terminated;
      if (!ended || ended.exitCode === 0) continue;
      if (ended.reason === 'OOMKilled') return `The step "${name}" used more memory than its limit.`;
      const lines = (ended.message ?? '')
        .trim()
        .split('\n')
        .filter((line) => line !== '' && !noise.test(line));
      const what = name === buildSteps.clone ? 'The source could not be fetched' : 'The image could not be built';
      const why = tellingLine(lines.join('\n')) || `the step ended with ${ended.exitCode}`;
      // Said already.
      if (lines.at(-1) === why) lines.pop();
      const log = lines.slice(-reasonMaxLines).map((line) => line.slice(0, lineMax));
      return [`${what}: ${why}`, ...(log.length > 0 ? ['The last lines of its log:', ...log] : [])].join('\n');
    }
  }
  return undefined;
}

function stepOf({ status }: Pod, name: string): ContainerStatus | undefined {
  const all = [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])];
  return all.find((each) => each.name === name);
}
