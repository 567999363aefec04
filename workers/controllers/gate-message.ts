import type { GatePhase } from '../../runtime/contracts/resources/public-route.ts';
import type { GateSight } from './gate-step.ts';
import type { GateAnswer } from './gate-probe.ts';

const setAddress = "run `svc install` again with --ingress-address <the ingress's address inside the cluster>";

/**
 * What the condition `Gated` says in a phase: what was seen, and for what does not go on by itself what to do. The same
 * sight makes the same words, since every other word is a write. Pure.
 */
export function gateMessage(phase: GatePhase, { routed, ingress, answer }: GateSight): string {
  if (phase === 'gated') return 'The ingress refuses requests without an API key.';
  if (!routed) return phase === 'off' ? 'There is no route.' : 'There is no route before the first release.';
  const seen = explain(answer, ingress);
  if (phase === 'applying') return `The route is not yet protected. ${seen}`;
  if (phase === 'lifting') return `The route is not yet open. ${seen}`;
  return answer === undefined || answer.kind === 'open'
    ? 'The route is open.'
    : `The route demands no key any more. ${seen}`;
}

/** An entry point that only redirects to another never asks the gate. */
function redirectHint(status: number, ingress: string): string {
  return status >= 300 && status < 400 ? ` If ${ingress} only redirects to another entry point, ${setAddress}.` : '';
}

function onHost({ host }: GateAnswer): string {
  return host === undefined ? '' : ` on ${host}`;
}

function explain(answer: GateAnswer | undefined, ingress: string | undefined): string {
  if (ingress === undefined) return `Nobody can be asked whether it is, since the ingress is not known: ${setAddress}.`;
  switch (answer?.kind) {
    case undefined:
      return 'The ingress has yet to take it up.';
    case 'refused':
      return 'The ingress still refuses requests without an API key.';
    case 'open':
      return `The ingress has yet to take it up: it lets requests without an API key through (status ${answer.status}).${redirectHint(answer.status, ingress)}`;
    case 'mixed':
      return `The ingress has yet to take it up everywhere: it lets some requests without an API key through (status ${answer.status}${onHost(answer)}) and refuses others.`;
    case 'denied':
      return answer.code === 'misconfigured'
        ? 'The ingress asks the gate, whose checkers do not know the workload (misconfigured); see the logs of svc-controllers.'
        : 'The ingress asks the gate, whose checkers cannot verify keys right now (gate_unavailable); see `svc status`.';
    case 'unclear':
      return `The ingress answers an empty 500${onHost(answer)}, as it does when it cannot reach svc-authz; see the pods in svc-system.`;
    case 'silent':
      return `The ingress at ${ingress} takes requests${onHost(answer)} and does not answer in time.`;
    case 'unreachable':
      return `The ingress at ${ingress} cannot be asked (${answer.reason}): make it reachable for svc-controllers, or ${setAddress}.`;
    default:
      return answer satisfies never;
  }
}
