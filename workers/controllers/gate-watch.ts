import type { Stored } from '../../runtime/contracts/kubernetes.ts';
import { publicUrl, type PlatformConfigSpec } from '../../runtime/contracts/resources/platform-config.ts';
import type { GatedWorkload } from '../../runtime/contracts/resources/public-route.ts';
import type { Clock } from '../../runtime/domain/clock.ts';
import type { ProbeGate } from './gate-probe.ts';
import { gateOutcome, mustAsk, type GateOutcome, type GateSight, type GateStep } from './gate-step.ts';

/** A status that changes brings another pass at once; the ingress is not asked more often than this, per workload. */
const probePauseMs = 400;

/** What a pass has made of the route. */
export interface GateView extends Pick<GateSight, 'routed' | 'changed'> {
  /** The workload's public hosts. */
  hosts: readonly string[];
  config: PlatformConfigSpec;
  signal: AbortSignal;
}

/** Sees where the gates of the workloads of one kind stand, by asking the ingress. */
export interface GateWatch {
  /** Where the gate stands after a pass that took this step. */
  look(workload: Stored<GatedWorkload>, step: GateStep, view: GateView): Promise<GateOutcome>;
  /** The workload is gone. */
  forget(workload: Stored<GatedWorkload>): void;
}

export function createGateWatch({ probeGate, clock }: { probeGate: ProbeGate; clock: Clock }): GateWatch {
  const probedAt = new Map<string, number>();

  /** What the ingress answers for the workload; undefined when nobody can be asked, or was a moment ago. */
  const ask = async (uid: string, { hosts, config, signal }: GateView) => {
    const { ingressAddress: address } = config;
    if (address === undefined) return undefined;
    const before = probedAt.get(uid);
    if (before !== undefined && clock.monotonic() - before < probePauseMs) return undefined;
    const asClients = hosts.map((host) => new URL(publicUrl(config, host)).host);
    const answer = await probeGate({ address, hosts: asClients, signal });
    probedAt.set(uid, clock.monotonic());
    return answer;
  };

  return {
    async look(workload, step, view) {
      const { uid } = workload.metadata;
      const { routed, changed, config } = view;
      const sight: GateSight = { routed, changed, ingress: config.ingressAddress };
      if (mustAsk(step, sight)) sight.answer = await ask(uid, view);
      else probedAt.delete(uid);
      return gateOutcome(workload, step, sight, clock.now());
    },
    forget({ metadata }) {
      probedAt.delete(metadata.uid);
    },
  };
}
