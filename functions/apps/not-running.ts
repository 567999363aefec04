import type { Pool } from 'pg';
import type { Stored } from '../../runtime/contracts/kubernetes.ts';
import type { App } from '../../runtime/contracts/resources/app.ts';
import { lastOutcomes, type LastOutcome } from '../../runtime/records/deployment-lists.ts';
import { shownIdOf } from '../../runtime/workloads/objects.ts';

/** Why an app without a release runs nothing. */
export interface NotRunning {
  message: string;
  /** Whether its last deployment failed; otherwise it was cancelled. */
  failed: boolean;
}

/**
 * Why apps without a release run nothing: the last deployment of each failed, such as in its build, or was cancelled. The App
 * object does not contain this.
 * @returns by the app's id, with one query for all; every other app is absent
 */
export async function notRunningReasons(
  pool: Pool,
  apps: readonly Stored<App>[],
): Promise<ReadonlyMap<string, NotRunning>> {
  const idle = apps.filter(({ spec, status }) => !spec.release && status?.message === undefined).map(shownIdOf);
  const outcomes = idle.length === 0 ? [] : await lastOutcomes(pool, idle);
  return new Map(
    outcomes.flatMap((outcome) => {
      const { workloadId, state } = outcome;
      return state === 'failed' || state === 'cancelled'
        ? [[workloadId, { message: messageOf(outcome), failed: state === 'failed' }] as const]
        : [];
    }),
  );
}

function messageOf({ revision, state, reason }: LastOutcome): string {
  // The lines after the first are the end of a log, which the app's history shows.
  const cause = reason === null ? '' : `: ${reason.split('\n', 1)[0]}`;
  return `Nothing is running, because revision ${revision} ${state === 'failed' ? 'failed' : 'was cancelled'}${cause}`;
}
