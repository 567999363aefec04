import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Pool } from 'pg';
import { createOwnerShares } from '../../runtime/bus/owner-shares.ts';
import type { Attempt, Outcome, Processor } from '../../runtime/bus/runner.ts';
import type { Stored } from '../../runtime/contracts/kubernetes.ts';
import type { App } from '../../runtime/contracts/resources/app.ts';
import { kinds } from '../../runtime/contracts/resources/kinds.ts';
import { systemClock, type Clock } from '../../runtime/domain/clock.ts';
import { checkGitSource } from '../../runtime/domain/git-source.ts';
import { idLabel } from '../../runtime/domain/labels.ts';
import { Problem } from '../../runtime/domain/problem.ts';
import { resolveGitHost } from '../../runtime/git/address.ts';
import { branchTip, createGit, seenHostKeys } from '../../runtime/git/git.ts';
import { gitCredentialsOf, readGitSecret } from '../../runtime/git/credentials.ts';
import { GitError } from '../../runtime/git/failure.ts';
import { readPlatformConfig } from '../../runtime/workloads/platform-config.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import type { NameLookup } from '../../runtime/process/name-lookup.ts';
import { catalogue } from '../../runtime/queues/catalogue.ts';
import {
  findGitSource,
  keepHostKeys,
  recordPollFailure,
  recordTip,
  type GitSourceState,
} from '../../runtime/records/git-sources.ts';

export interface PollingDependencies {
  pool: Pool;
  kube: Pick<KubeClient, 'get'>;
  /** The environment of this process, with the proxy settings for git. */
  env: Readonly<Record<string, string | undefined>>;
  /** Between two polls of a source, in ms; default a minute. */
  intervalMs?: number;
  /** How long a source rests after a first failed poll, in ms; default 5 s. */
  restMs?: number;
  /** Between 0 and 1; default `Math.random`. */
  random?: () => number;
  /** Resolves the names of git servers; default: the system's resolver. */
  names?: NameLookup | undefined;
  /** Default: the machine's. */
  clock?: Pick<Clock, 'now'>;
}

const minuteMs = 60_000;
/** The longest interval between two polls of a source that keeps failing. */
const failingMaxMs = 15 * minuteMs;
const defaultRestMs = 5_000;
/** The longest rest of a source that keeps failing. */
const restMaxMs = minuteMs;
/** Retry delay after a concurrent change. */
const soonMs = 3_000;
const timeoutMs = 20_000;
/** Enough for 200,000 branches; four polls run at the same time. */
const memoryMaxMib = 64;
/**
 * What a project uses of the queue: half, since a server may take 20 s to answer nothing (decision 0082). The wait for a
 * place and the poll together take less than the time-out of an attempt.
 */
const share = { perOwner: catalogue.polling.places / 2, waitMs: 4_000, soonMs: 1_000, spacingMs: 250 };

/** A time that doubles with each failure, up to four times and to a maximum. */
const doubled = (ms: number, failures: number, maxMs: number) => Math.min(maxMs, ms * 2 ** Math.min(failures, 4));

/**
 * Polls one git source: reads the tip of its branch and deploys a new commit. The work row is the schedule: every outcome
 * sets the next poll, with jitter, so that sources of one server are not polled at the same time. A failing server is no
 * failure of the work: it is shown in the status of the source and polled less often. A user who asks for polls of it all the
 * same (`svc app git sync`) gets the next one after a rest, which doubles with each failure: a poll costs the platform up to
 * 20 s and 64 MiB.
 */
export function createPollingProcessor(dependencies: PollingDependencies): Processor {
  const { pool, kube, env, intervalMs = minuteMs, restMs = defaultRestMs, random = Math.random } = dependencies;
  const { names, clock = systemClock } = dependencies;
  const shares = createOwnerShares(clock, catalogue.polling, share);

  const readTip = async (source: GitSourceState, app: Stored<App>, signal: AbortSignal) => {
    const { builds, caCertificates } = await readPlatformConfig(kube);
    const { gitNetworks = [] } = builds ?? {};
    const addresses = await resolveGitHost(source.url, gitNetworks, names && ((host) => names(source.project, host)));
    const hostKeys = app.spec.git?.hostKeys ?? source.hostKeys;
    const folder = await mkdtemp(join(tmpdir(), 'poll-'));
    try {
      const credentials = gitCredentialsOf(await readGitSecret(kube, app, source.url));
      const git = createGit({ folder, credentials, ...addresses, hostKeys, caCertificates, env, memoryMaxMib });
      const tip = await branchTip(git, source, { timeoutMs, signal });
      if (tip === undefined) throw new GitError(`The repository has no branch "${source.branch}".`, 'branch');
      return tip;
    } finally {
      const presentedKeys = hostKeys ? [] : seenHostKeys(folder);
      // Also when the server refused the credentials, so that no other server can replace it later.
      if (presentedKeys.length > 0) await keepHostKeys(pool, source, presentedKeys);
      await rm(folder, { recursive: true, force: true });
    }
  };

  const poll = async (source: GitSourceState, { recordId, signal, log }: Attempt): Promise<Outcome> => {
    const { readAt } = source;
    const again = (ms: number) => ({ again: new Date(readAt.getTime() + ms * (0.75 + random() / 2)) });
    const app = await kube.get<App>(kinds.App, source.name, source.namespace);
    // The app's controller has not updated the source yet.
    if (app?.metadata.labels?.[idLabel] !== recordId || app.spec.git?.url !== source.url) return again(soonMs);
    try {
      checkGitSource(source);
      const commit = await readTip(source, app, signal);
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
      log.debug({ namespace: source.namespace, app: source.name, reason: error.message }, 'git source failed');
      return again(doubled(intervalMs, source.failures, failingMaxMs));
    }
  };

  /** When a source that failed may be polled again. */
  const restEnd = ({ failures, polledAt }: GitSourceState): Date => {
    if (failures === 0 || polledAt === null) return new Date(0);
    return new Date(polledAt.getTime() + doubled(restMs, failures - 1, restMaxMs));
  };

  return async (attempt) => {
    const source = await findGitSource(pool, attempt.recordId);
    if (source && restEnd(source) > source.readAt) return { again: restEnd(source) };
    return source ? shares.run(source.project, attempt, () => poll(source, attempt)) : 'done';
  };
}
