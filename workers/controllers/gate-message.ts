import type { GatePhase } from '../../runtime/contracts/resources/public-route.ts';
import type { GateAnswer } from './gate-probe.ts';

/** The observations of a reconcile after it wrote the route. */
export interface GateSight {
  /** Whether the route exists; before the first release it does not. */
  routed: boolean;
  /** Whether this reconcile changed the route, so that the ingress may still use the previous one. */
  changed: boolean;
  /** The address of the ingress inside the cluster, if it is known. */
  ingress: string | undefined;
  /** The responses of the ingress; undefined when it was not asked. */
  answer?: GateAnswer | undefined;
}

const setAddress = "run `svc install` again with --ingress-address <the ingress's address inside the cluster>";

/**
 * The message of the condition `Gated`: what was observed, and what to do if it does not resolve itself. It is the same
 * for the same observations, because every change is a write. Pure.
 */
export function gateMessage(phase: GatePhase, { routed, ingress, answer }: GateSight): string {
  if (phase === 'gated') return 'The ingress refuses requests without an API key.';
  if (!routed) return phase === 'off' ? 'There is no route.' : 'There is no route until the first release.';
  const explanation = explain(answer, ingress);
  if (phase === 'applying') return `The route is not yet protected. ${explanation}`;
  if (phase === 'lifting') return `The route is not yet open. ${explanation}`;
  return answer === undefined || answer.kind === 'open'
    ? 'The route is open.'
    : `The route no longer requires a key. ${explanation}`;
}

/** An entry point that only redirects never asks the gate. */
function redirectHint(status: number, ingress: string): string {
  return status >= 300 && status < 400 ? ` If ${ingress} only redirects to another entry point, ${setAddress}.` : '';
}

function onHost({ host }: GateAnswer): string {
  return host === undefined ? '' : ` on ${host}`;
}

function explain(answer: GateAnswer | undefined, ingress: string | undefined): string {
  if (ingress === undefined) return `Cannot verify: the ingress address is unknown; ${setAddress}.`;
  switch (answer?.kind) {
    case undefined:
      return 'The ingress has not applied the change yet.';
    case 'refused':
      return 'The ingress still refuses requests without an API key.';
    case 'open':
      return `The ingress has not applied the change yet: it forwards requests without an API key (status ${answer.status}).${redirectHint(answer.status, ingress)}`;
    case 'mixed':
      return `The ingress has applied the change only in part: it forwards some requests without an API key (status ${answer.status}${onHost(answer)}) and refuses others.`;
    case 'denied':
      return answer.code === 'misconfigured'
        ? 'The checkers do not know the workload (misconfigured); check the logs of svc-controllers.'
        : 'The checkers cannot verify keys right now (gate_unavailable); check `svc status`.';
    case 'unclear':
      return `The ingress returns an empty 500${onHost(answer)}, which usually means that it cannot reach svc-authz; check the pods in svc-system.`;
    case 'silent':
      return `The ingress at ${ingress} accepts requests${onHost(answer)} but does not respond in time.`;
    case 'unreachable':
      return `The ingress at ${ingress} is unreachable (${answer.reason}): make it reachable for svc-controllers, or ${setAddress}.`;
    default:
      return answer satisfies never;
  }
}
