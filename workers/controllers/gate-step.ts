import { gatedCondition, type GatedWorkload, type GatePhase } from '../../runtime/contracts/resources/public-route.ts';
import { findCondition, type ConditionState } from '../../runtime/kube/conditions.ts';
import { gateMessage, type GateSight } from './gate-message.ts';

/**
 * After the ingress stopped asking the checkers, requests may still be in progress, and one of its replicas may be
 * late. Until this time has passed the checkers know the workload, because they would deny its requests otherwise.
 */
const lingerMs = 15_000;
/**
 * A gate that is being disabled counts as off after this time, whatever the responses: a workload may respond like the
 * gate, and an ingress that still asks it would only deny requests. Enabling a gate has no such limit.
 */
const liftingMaxMs = 60_000;
/** After this time in `applying`, a Warning is recorded. */
const slowMs = 60_000;
/** The ingress is asked again after a tenth of the time since the phase began, within these limits. */
const againMs = { min: 500, max: 30_000 };

/** The state of a workload's gate before its route is written. */
export interface GateStep {
  /** The phase of the last reconcile. */
  phase: GatePhase;
  /** Milliseconds in this phase; 0 for a workload that never had a gate. */
  forMs: number;
  /** Whether the checkers know the workload as gated: from before the route asks them until after it stops. */
  gated: boolean;
  /** Whether the route requires a key. */
  demanded: boolean;
  /** Whether the middlewares can be deleted. */
  dismantle: boolean;
}

/**
 * The next step of enabling or disabling the gate (docs/reference/gate.md#turning-the-gate-on). Enabling: first the
 * checkers, then the route. Disabling: first the route, and some time after the ingress was seen to follow, the
 * checkers. Pure.
 */
export function gateStep({ spec, status }: Pick<GatedWorkload, 'spec' | 'status'>, now: Date): GateStep {
  const { gate: phase = 'off', gateSince } = status ?? {};
  // A wall clock that was set back restarts the time, so that nothing happens too early.
  const forMs = gateSince === undefined ? 0 : Math.max(0, now.getTime() - Date.parse(gateSince));
  if (spec.gate?.enabled) return { phase, forMs, gated: true, demanded: true, dismantle: false };
  const lingering = phase !== 'off' || (gateSince !== undefined && forMs < lingerMs);
  return { phase, forMs, gated: lingering, demanded: false, dismantle: !lingering };
}

/** Whether the next phase depends on the ingress's response, now that the route is written. Pure. */
export function mustAsk({ phase, demanded }: GateStep, { routed, changed }: GateSight): boolean {
  return routed && !changed && phase !== (demanded ? 'gated' : 'off');
}

/** The state of the gate after a reconcile. */
export interface GateOutcome {
  phase: GatePhase;
  /** For `status.gateSince`. */
  since: string | undefined;
  /** Undefined for a workload that never had a gate. */
  state: ConditionState | undefined;
  /** Milliseconds until the next step that no watch triggers. */
  againInMs?: number;
  /** An Event to record for the workload. */
  event?: { type: 'Normal' | 'Warning'; reason: string; message: string };
}

/** The reason and status of the condition in each phase. */
const reasons = { off: 'GateLifted', applying: 'Applying', gated: 'GateApplied', lifting: 'Lifting' } as const;
const statuses = { off: 'False', applying: 'Unknown', gated: 'True', lifting: 'Unknown' } as const;

/**
 * The gate after a reconcile: `gated`, and except for the time limit `off`, only once the ingress was seen to follow.
 * Pure.
 */
export function gateOutcome(
  workload: Pick<GatedWorkload, 'status' | 'metadata'>,
  step: GateStep,
  sight: GateSight,
  now: Date,
): GateOutcome {
  const phase = phaseAfter(step, sight);
  const before = findCondition(workload.status?.conditions, gatedCondition);
  if (phase === 'off' && !before) return { phase, since: undefined, state: undefined };
  const same = phase === step.phase && workload.status?.gateSince !== undefined;
  const forMs = same ? step.forMs : 0;
  const since = same ? workload.status?.gateSince : now.toISOString();
  // The last observation stays while the ingress was not asked, or does not have to be.
  const seenBefore = same && sight.answer === undefined && sight.ingress !== undefined && sight.routed;
  const message = seenBefore && before ? before.message : gateMessage(phase, sight);
  const { generation } = workload.metadata;
  const state: ConditionState = {
    type: gatedCondition,
    status: statuses[phase],
    reason: reasons[phase],
    message,
    ...(generation !== undefined && { observedGeneration: generation }),
  };
  return { phase, since, state, ...nextLook(phase, forMs, sight), ...eventOf(step, phase, forMs, message) };
}

function phaseAfter(step: GateStep, sight: GateSight): GatePhase {
  const { answer, routed, changed } = sight;
  if (step.demanded) {
    const confirmed = !changed && (step.phase === 'gated' || answer?.kind === 'refused');
    return routed && confirmed ? 'gated' : 'applying';
  }
  if (!routed || step.phase === 'off' || answer?.kind === 'open') return 'off';
  return step.phase === 'lifting' && step.forMs >= liftingMaxMs ? 'off' : 'lifting';
}

function nextLook(phase: GatePhase, forMs: number, { routed, ingress }: GateSight): { againInMs?: number } {
  if (phase === 'off') return forMs < lingerMs ? { againInMs: lingerMs - forMs } : {};
  if (phase === 'gated' || !routed) return {};
  // A change of the settings enqueues every app.
  if (phase === 'applying' && ingress === undefined) return {};
  return { againInMs: Math.min(againMs.max, Math.max(againMs.min, forMs / 10)) };
}

function eventOf(step: GateStep, phase: GatePhase, forMs: number, message: string): Pick<GateOutcome, 'event'> {
  if (phase === 'gated' && step.phase !== 'gated') return { event: { type: 'Normal', reason: reasons.gated, message } };
  if (phase === 'off' && step.phase !== 'off') return { event: { type: 'Normal', reason: reasons.off, message } };
  if (phase === 'applying' && forMs >= slowMs) return { event: { type: 'Warning', reason: 'GateNotApplied', message } };
  return {};
}
