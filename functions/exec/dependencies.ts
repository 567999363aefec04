import type { Clock } from '../../runtime/domain/clock.ts';
import type { KubeClient, KubeExec } from '../../runtime/kube/kube-client.ts';
import type { OpenRuns } from './open-runs.ts';

/** What the routes of sessions need. */
export interface ExecDependencies {
  kube: KubeClient & KubeExec;
  clock: Clock;
  /** How long a session may be silent, in ms. */
  idleMs: number;
  openRuns: OpenRuns;
}
