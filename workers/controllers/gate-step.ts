import { gatedCondition, type GatedWorkload, type GatePhase } from '../../runtime/contracts/resources/public-route.ts';
import { findCondition, type ConditionState } from '../../runtime/kube/conditions.ts';
import { gateMessage } from './gate-message.ts';
import type { GateAnswer } from './gate-probe.ts';

/**
 * Once the ingress was seen to ask the checkers no longer, something that it asked before may still be under way, and a
 * replica of it may be behind; a checker that no longer knew the workload would refuse.
 */
const lingerMs = 15_000;
/**
 * A route that is to open counts as open after this long, whatever is answered: a workload may answer as the gate does, and
 * an ingress that still asked would only refuse. A route that is to be protected has no such limit.
 */
export const liftingMaxMs = 60_000;
/** After this long in `applying` a Warning tells about it. */
const slowMs = 60_000;
/** The ingress is asked again after a tenth of the time that it has been asked for already, within these limits. */
const againMs = { min: 500, max: 30_000 };

/** Where a workload's gate stands before its route is written. */
export interface GateStep {
  /** Where the last pass left it. */
  phase: GatePhase;
  /** For how long, in ms; 0 for a workload that never had a gate. */
  forMs: number;
  /** Whether the checkers are to know the workload as gated. Always before the route asks them, and longer than it does. */
  known: boolean;
  /** Whether the route demands a key. */
  demanded: boolean;
  /** Whether the middlewares may go. */
  dismantle: boolean;
}

/**
 * The gate's step that is due (spec.md §3.2). On: checkers first, then the route. Off: the route first, then, when the
 * ingress was seen to follow and some time has passed, the checkers. Pure.
 */
export function gateStep({ spec, status }: Pick<GatedWorkload, 'spec' | 'status'>, now: Date): GateStep {
  const { gate: phase = 'off', gateSince } = status ?? {};
  // A wall clock that was set back makes it begin anew, never earlier.
  const forMs = gateSince === undefined ? 0 : Math.max(0, now.getTime() - Date.parse(gateSince));
  if (spec.gate?.enabled) return { phase, forMs, known: true, demanded: true, dismantle: false };
  const lingering = phase !== 'off' || (gateSince !== undefined && forMs < lingerMs);
  return { phase, forMs, known: lingering, demanded: false, dismantle: !lingering };
}

/** What a pass saw of the gate, once it had written the route. */
export interface GateSight {
  /** Whether there is a route at all: before the first release there is none. */
  routed: boolean;
  /** Whether this pass had to change the route: an answer would still be about the former one. */
  changed: boolean;
  /** The ingress inside the cluster, where it is known. */
  ingress: string | undefined;
  /** What the ingress answered; undefined when it was not asked. */
  answer?: GateAnswer | undefined;
}

/** Whether it takes the ingress's answer to go on, now that the route is as the step demands. Pure. */
export function mustAsk({ phase, demanded }: GateStep, { routed, changed }: GateSight): boolean {
  return routed && !changed && phase !== (demanded ? 'gated' : 'off');
}

/** Where the gate stands after a pass. */
export interface GateOutcome {
  phase: GatePhase;
  /** As `status.gateSince`. */
  since: string | undefined;
  /** Undefined for a workload that never had a gate. */
  state: ConditionState | undefined;
  /** When a step is due that only time brings. */
  againInMs?: number;
  /** What is to be told about the workload. */
  event?: { type: 'Normal' | 'Warning'; reason: string; message: string };
}

/** The reason and the status of the condition in each phase. */
const reasons = { off: 'GateLifted', applying: 'Applying', gated: 'GateApplied', lifting: 'Lifting' } as const;
const statuses = { off: 'False', applying: 'Unknown', gated: 'True', lifting: 'Unknown' } as const;

/** The gate after a pass: `gated` and, but for the time limit, `off` only once the ingress was seen to follow. Pure. */
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
  // Not asked although it could be, or nothing left to ask: what was seen last still counts.
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
    const seen = !changed && (step.phase === 'gated' || answer?.kind === 'refused');
    return routed && seen ? 'gated' : 'applying';
  }
  if (!routed || step.phase === 'off' || answer?.kind === 'open') return 'off';
  return step.phase === 'lifting' && step.forMs >= liftingMaxMs ? 'off' : 'lifting';
}

function nextLook(phase: GatePhase, forMs: number, { routed, ingress }: GateSight): { againInMs?: number } {
  if (phase === 'off') return forMs < lingerMs ? { againInMs: lingerMs - forMs } : {};
  if (phase === 'gated' || !routed) return {};
  // Other settings bring every app by themselves.
  if (phase === 'applying' && ingress === undefined) return {};
  return { againInMs: Math.min(againMs.max, Math.max(againMs.min, forMs / 10)) };
}

function eventOf(step: GateStep, phase: GatePhase, forMs: number, message: string): Pick<GateOutcome, 'event'> {
  if (phase === 'gated' && step.phase !== 'gated') return { event: { type: 'Normal', reason: reasons.gated, message } };
  if (phase === 'off' && step.phase !== 'off') return { event: { type: 'Normal', reason: reasons.off, message } };
  if (phase === 'applying' && forMs >= slowMs) return { event: { type: 'Warning', reason: 'GateNotApplied', message } };
  return {};
}
