import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Pool } from 'pg';
import type { Processor } from '../../runtime/bus/runner.ts';
import type { Stored } from '../../runtime/contracts/kubernetes.ts';
import type { App } from '../../runtime/contracts/resources/app.ts';
import { kinds } from '../../runtime/contracts/resources/kinds.ts';
import { checkGitSource } from '../../runtime/domain/git-source.ts';
import { idLabel } from '../../runtime/domain/labels.ts';
import { Problem } from '../../runtime/domain/problem.ts';
import { branchTip, createGit, seenHostKeys } from '../../runtime/host/git.ts';
import { gitCredentialsOf, readGitSecret } from '../../runtime/host/git-credentials.ts';
import { GitError } from '../../runtime/host/git-failure.ts';
import { readPlatformConfig } from '../../runtime/host/platform-config.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import {
  findGitSource,
  keepHostKeys,
  recordPollFailure,
  recordTip,
  type GitSourceState,
} from '../../runtime/records/git-sources.ts';
import { resolveGitHost } from './address.ts';

export interface PollingDependencies {
  pool: Pool;
  kube: Pick<KubeClient, 'get'>;
  /** Of this process, for git's way out. */
  env: Readonly<Record<string, string | undefined>>;
  /** Between two polls of a source, in ms; default a minute. */
  intervalMs?: number;
  /** Between 0 and 1; default `Math.random`. */
  random?: () => number;
}

const minuteMs = 60_000;
/** A source that keeps failing is asked less and less often, at most this seldom. */
const failingMaxMs = 15 * minuteMs;
/** Something came in between: again soon. */
const soonMs = 3_000;
const askMs = 20_000;

/**
 * One poll of one git source: asks the server for the tip of the branch and deploys a commit that is new. The work row is
 * the schedule: every answer names the next time, with jitter, so that sources of one server are not asked at once. A
 * server that fails is no failure of the work: it is told where the source is shown, and asked less often.
 */
export function createPollingProcessor(dependencies: PollingDependencies): Processor {
  const { pool, kube, env, intervalMs = minuteMs, random = Math.random } = dependencies;

  const ask = async (source: GitSourceState, app: Stored<App>, signal: AbortSignal) => {
    const { gitNetworks = [] } = (await readPlatformConfig(kube)).builds ?? {};
    const addresses = await resolveGitHost(source.url, gitNetworks);
    const hostKeys = app.spec.git?.hostKeys ?? source.hostKeys;
    const folder = await mkdtemp(join(tmpdir(), 'poll-'));
    try {
      const credentials = gitCredentialsOf(await readGitSecret(kube, app, source.url));
      const git = createGit({ folder, credentials, ...addresses, hostKeys, env });
      const tip = await branchTip(git, source, { timeoutMs: askMs, signal });
      if (tip === undefined) throw new GitError(`The repository has no branch "${source.branch}".`, 'branch');
      return tip;
    } finally {
      const seen = hostKeys ? [] : seenHostKeys(folder);
      // Also of a server that then refused the key: nobody else may take its place.
      if (seen.length > 0) await keepHostKeys(pool, source, seen);
      await rm(folder, { recursive: true, force: true });
    }
  };

  return async ({ recordId, signal, log }) => {
    const source = await findGitSource(pool, recordId);
    if (!source) return 'done';
    const { readAt } = source;
    const again = (ms: number) => ({ again: new Date(readAt.getTime() + ms * (0.75 + random() / 2)) });
    const app = await kube.get<App>(kinds.App, source.name, source.namespace);
    // The app's controller says what is polled; it will have heard of a change in a moment.
    if (app?.metadata.labels?.[idLabel] !== recordId || app.spec.git?.url !== source.url) return again(soonMs);
    try {
      checkGitSource(source);
      const commit = await ask(source, app, signal);
      const outcome = await recordTip(pool, source, commit, readAt);
      if (outcome === 'overtaken') return again(soonMs);
      if (outcome !== 'unchanged') {
        const { id: deploymentId, revision } = outcome.deployed;
        log.info({ namespace: source.namespace, app: source.name, commit, deploymentId, revision }, 'new commit');
      }
      return again(intervalMs);
    } catch (error) {
      if (!(error instanceof GitError || error instanceof Problem)) throw error;
      const problem = error instanceof GitError ? error.problem : 'address';
      await recordPollFailure(pool, source, { error: error.message.slice(0, 500), problem });
      log.debug({ namespace: source.namespace, app: source.name, reason: error.message }, 'git source not reached');
      return again(Math.min(failingMaxMs, intervalMs * 2 ** Math.min(source.failures, 4)));
    }
  };
}
