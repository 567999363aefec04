import type { Stored } from '../../runtime/contracts/kubernetes.ts';
import { publicUrl, type PlatformConfigSpec } from '../../runtime/contracts/resources/platform-config.ts';
import type { GatedWorkload } from '../../runtime/contracts/resources/public-route.ts';
import type { Clock } from '../../runtime/domain/clock.ts';
import { idLabel } from '../../runtime/domain/labels.ts';
import type { ProbeGate } from './gate-probe.ts';
import type { GateSight } from './gate-message.ts';
import { gateOutcome, mustAsk, type GateOutcome, type GateStep } from './gate-step.ts';

/** The minimum time between two checks per workload, because a status change causes another reconcile at once. */
const probePauseMs = 400;

/** The route after a reconcile. */
interface GateView extends Pick<GateSight, 'routed' | 'changed'> {
  /** The workload's public hosts. */
  hosts: readonly string[];
  config: PlatformConfigSpec;
  signal: AbortSignal;
}

/** Checks the gates of one kind's workloads by asking the ingress. */
export interface GateWatch {
  /** The state of the gate after a reconcile with this step. */
  check(workload: Stored<GatedWorkload>, step: GateStep, view: GateView): Promise<GateOutcome>;
  /** Call when the workload is deleted. */
  forget(workload: Stored<GatedWorkload>): void;
}

export function createGateWatch({ probeGate, clock }: { probeGate: ProbeGate; clock: Clock }): GateWatch {
  const probedAt = new Map<string, number>();

  /** The responses for the workload; undefined when the ingress is unknown or was asked a moment ago. */
  const probe = async ({ metadata: { uid, labels } }: Stored<GatedWorkload>, { hosts, config, signal }: GateView) => {
    const { ingressAddress: address } = config;
    if (address === undefined) return undefined;
    const before = probedAt.get(uid);
    if (before !== undefined && clock.monotonic() - before < probePauseMs) return undefined;
    const asClients = hosts.map((host) => new URL(publicUrl(config, host)).host);
    const answer = await probeGate({ app: labels?.[idLabel] ?? '', address, hosts: asClients, signal });
    probedAt.set(uid, clock.monotonic());
    return answer;
  };

  return {
    async check(workload, step, view) {
      const { uid } = workload.metadata;
      const { routed, changed, config } = view;
      const gateSight: GateSight = { routed, changed, ingress: config.ingressAddress };
      if (mustAsk(step, gateSight)) gateSight.answer = await probe(workload, view);
      else probedAt.delete(uid);
      return gateOutcome(workload, step, gateSight, clock.now());
    },
    forget({ metadata }) {
      probedAt.delete(metadata.uid);
    },
  };
}
