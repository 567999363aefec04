import { once } from 'node:events';
import { isDeepStrictEqual } from 'node:util';
import type { Logger } from 'pino';
import { checkerService } from '../../runtime/contracts/gate-denials.ts';
import type { KubeObject, Stored } from '../../runtime/contracts/kubernetes.ts';
import { isPodEnded, isPodReady, type Pod } from '../../runtime/contracts/pod.ts';
import type { Clock } from '../../runtime/domain/clock.ts';
import { appLabel } from '../../runtime/domain/labels.ts';
import { isKubeError, type KubeClient } from '../../runtime/kube/kube-client.ts';
import type { Informer } from '../../runtime/kube/informer.ts';

/** The time between a failed write and the next attempt. */
const retryMs = 1_000;

/** The process that answers for checkers while none is ready. */
const standIn = 'svc-interceptor';

/** A Service of Kubernetes. */
export interface KubeService extends KubeObject {
  spec: { selector?: Record<string, string> };
}

export interface GateStandbyOptions {
  kube: Pick<KubeClient, 'replace'>;
  /** The pods with the label `app=svc-authz` in the system namespace. */
  checkers: Pick<Informer<Pod>, 'list' | 'onChange'>;
  /** The Services with that label in the system namespace. */
  services: Pick<Informer<KubeService>, 'list' | 'onChange'>;
  clock: Clock;
  log: Logger;
}

/** Runs in the leader only. */
export interface GateStandby {
  start(): void;
  stop(): Promise<void>;
}

/**
 * Leads the Service `svc-authz` to the interceptors while no checker is ready, and back as soon as one is. The
 * interceptors deny everything with 503 `gate_unavailable`; without them, the ingress would answer an empty 500
 * (docs/decisions/0057-interceptors-stand-in-for-checkers.md).
 */
export function createGateStandby({ kube, checkers, services, clock, log }: GateStandbyOptions): GateStandby {
  let stopping = new AbortController();
  let running: Promise<void> = Promise.resolve();
  let wake = (): void => undefined;
  let unsubscribe: (() => void)[] = [];

  const switchService = async (service: Stored<KubeService>, target: string): Promise<void> => {
    await kube.replace({ ...service, spec: { ...service.spec, selector: { [appLabel]: target } } });
    const level = target === standIn ? 'warn' : 'info';
    log[level](
      { service: checkerService, pods: target },
      target === standIn ? 'no checker is ready' : 'checkers are ready',
    );
  };

  /** @returns whether the Service leads where it should */
  const check = async (): Promise<boolean> => {
    const service = services.list().find(({ metadata }) => metadata.name === checkerService);
    const target = checkers.list().some(isServing) ? checkerService : standIn;
    if (!service || isDeepStrictEqual(service.spec.selector, { [appLabel]: target })) return true;
    try {
      await switchService(service, target);
      return true;
    } catch (error) {
      // After a concurrent change the informer reports the new version.
      if (!isKubeError(error, 409)) log.warn({ err: error }, 'cannot switch the Service of the checkers');
      return false;
    }
  };

  const run = async (signal: AbortSignal): Promise<void> => {
    const ended = once(signal, 'abort');
    while (!signal.aborted) {
      const changed = new Promise<void>((resolve) => (wake = resolve));
      if (await check()) await Promise.race([changed, ended]);
      else await clock.sleep(retryMs, signal).catch(() => undefined);
    }
  };

  return {
    start() {
      stopping = new AbortController();
      const notice = () => wake();
      unsubscribe = [checkers.onChange(notice), services.onChange(notice)];
      running = run(stopping.signal);
    },
    async stop() {
      stopping.abort();
      for (const end of unsubscribe) end();
      await running;
    },
  };
}

/** As kube-proxy sees it: a terminating checker that is still ready gets requests while there is no other. */
function isServing(pod: Pod): boolean {
  return isPodReady(pod) && !isPodEnded(pod);
}
