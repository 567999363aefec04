import type { DeploymentView } from '../../../../runtime/contracts/api/apps.ts';
import { hasEnded } from '../../../../runtime/domain/deployment.ts';

/** A deployment that succeeded. */
type Release = DeploymentView & { revision: number };

/** What an app went back to, and what it left. */
export interface RollbackState {
  /** The deployment that the app runs: a rollback, or a restart after one. */
  current: Release;
  /** The revision whose image runs again. */
  to: number;
  /** The newest deployment that succeeded before the app went back; its image may be deleted. */
  left: Release;
  /** Whether variables and settings went back too, so that an undo has to restore them. */
  withConfig: boolean;
}

const isRelease = (deployment: DeploymentView): deployment is Release =>
  deployment.status === 'succeeded' && deployment.revision !== undefined;

/** The deployments of a history that succeeded, newest revision first. */
function releasesOf(history: readonly DeploymentView[]): Release[] {
  return history.filter(isRelease).toSorted((a, b) => b.revision - a.revision);
}

/**
 * For each release, newest first, the revision that first deployed what it runs: a rollback repeats its target, and a
 * restart what ran before. One that is older than the history counts as the first.
 */
function originsOf(releases: readonly Release[]): Map<number, number> {
  const origins = new Map<number, number>();
  let before: Release | undefined;
  for (const release of releases.toReversed()) {
    const { revision, trigger, rollbackOf, image } = release;
    let origin = revision;
    if (rollbackOf !== undefined) origin = origins.get(rollbackOf) ?? rollbackOf;
    else if (trigger === 'restart' && before && before.image === image)
      origin = origins.get(before.revision) ?? revision;
    origins.set(revision, origin);
    before = release;
  }
  return origins;
}

/**
 * Whether an app runs an older release than it could, because a person rolled it back; undefined once a newer one runs.
 * @param history newest first; it may lack the oldest deployments
 */
export function rollbackStateOf(history: readonly DeploymentView[]): RollbackState | undefined {
  const releases = releasesOf(history);
  const origins = originsOf(releases);
  const current = releases.find((release) => release.current);
  const newest = Math.max(...origins.values());
  const to = origins.get(current?.revision ?? 0);
  const left = releases.find(({ revision }) => origins.get(revision) === newest);
  if (!current || !left || to === undefined || to >= newest) return undefined;
  const withConfig = releases.some((release) => release.revision > left.revision && release.withConfig === true);
  return { current, to, left, withConfig };
}

/** The rollback by which the platform answered a failed or cancelled deployment, if the app still runs it. */
export function automaticRollbackOf(
  history: readonly DeploymentView[],
): (Release & { rollbackOf: number }) | undefined {
  const current = history.find((deployment) => deployment.current);
  if (!current?.automatic || !isRelease(current) || current.rollbackOf === undefined) return undefined;
  return { ...current, rollbackOf: current.rollbackOf };
}

/** Whether a revision has ended, or one after it: that it was accepted is then no news any more. */
export function isOver(history: readonly DeploymentView[], accepted: number): boolean {
  return history.some(({ revision = 0, status }) => revision >= accepted && hasEnded(status));
}
