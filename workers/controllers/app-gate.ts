import type { App } from '../../runtime/contracts/resources/app.ts';
import { findCondition, type ConditionState } from '../../runtime/kube/conditions.ts';

/** Whether the route demands a key; its last change tells when the gate was taken away. */
export const gatedCondition = 'Gated';

/**
 * The ingress asks the checker for a while after the route was changed (Traefik gathers changes for 2 s), and a checker
 * that no longer knew the app would refuse everybody.
 */
const lingerMs = 15_000;

/** Where an app's gate stands. */
export interface GateStep {
  /** Whether the checkers are to know the app as gated. Always before the route asks them, and longer than it does. */
  known: boolean;
  /** Whether the route demands a key. */
  demanded: boolean;
  /** Whether the middlewares may go. */
  dismantle: boolean;
  /** When a step is due that only time brings. */
  againInMs?: number;
}

/**
 * The gate's step that is due (spec.md §3.2). On: checkers first, then the route. Off: the route first, then, when the
 * ingress has surely noticed, the checkers. Pure.
 */
export function gateStep({ spec, status }: Pick<App, 'spec' | 'status'>, now: Date): GateStep {
  if (spec.gate?.enabled) return { known: true, demanded: true, dismantle: false };
  const condition = findCondition(status?.conditions, gatedCondition);
  if (!condition) return { known: false, demanded: false, dismantle: true };
  if (condition.status === 'True') return { known: true, demanded: false, dismantle: false, againInMs: lingerMs };
  const leftMs = Date.parse(condition.lastTransitionTime) + lingerMs - now.getTime();
  return leftMs > 0
    ? { known: true, demanded: false, dismantle: false, againInMs: leftMs }
    : { known: false, demanded: false, dismantle: true };
}

/** The condition once the route is as the step demands; undefined for an app that never had a gate. Pure. */
export function gatedState(app: Pick<App, 'status' | 'metadata'>, { demanded }: GateStep): ConditionState | undefined {
  if (!demanded && !findCondition(app.status?.conditions, gatedCondition)) return undefined;
  const { generation } = app.metadata;
  return {
    type: gatedCondition,
    status: demanded ? 'True' : 'False',
    reason: demanded ? 'MiddlewareApplied' : 'GateDisabled',
    message: demanded ? 'The route demands an API key.' : 'The route is open.',
    ...(generation !== undefined && { observedGeneration: generation }),
  };
}
