import { once } from 'node:events';
import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import type { ControllerHealth } from '../contracts/api/health.ts';
import type { Clock } from '../domain/clock.ts';
import { createControllerMetrics } from './controller-metrics.ts';
import { createController, type Controller, type ControllerDefinition } from './controller.ts';
import { createInformers, type Informers } from './informers.ts';
import type { KubeClient } from './kube-client.ts';
import { createLease } from './lease.ts';

/** Work besides the controllers that only the leader runs, such as the scaler. */
interface LeaderPart {
  name: string;
  /** Starts it, also again after a stop. */
  start(): void | Promise<void>;
  stop(): void | Promise<void>;
}

export interface ManagerOptions {
  kube: KubeClient;
  lease: { namespace: string; name: string; identity: string };
  clock: Clock;
  log: Logger;
  registry: Registry;
  /** Ends the process. Called when the leadership is lost and the leader's work does not end within two minutes. */
  endProcess: () => void;
  /** Default 3,600,000; see {@link createController}. */
  resyncMs?: number;
}

/** From an election until the leader's work has ended. */
interface Term {
  ending: AbortController;
  /** Resolves when the work has started, or its start was abandoned. */
  work: Promise<void>;
  ended?: Promise<void>;
}

/** Long enough for several requests, one after the other, that the API server does not answer (30 s each). */
const endLimitMs = 120_000;

/**
 * Runs controllers while this process is the leader. A leader that could not renew its Lease, such as while the API server
 * was away, ends the work and competes for the Lease again: a process that ended would meet the kubelet's back-off, which
 * grows to five minutes.
 */
export interface Manager {
  /** Shared with other parts of the process; they run with or without leadership. */
  readonly informers: Informers;
  /** Adds a controller; call it before {@link start}. */
  add(definition: ControllerDefinition): Controller;
  /** Adds a part that starts after the controllers and stops with them; call it before {@link start}. */
  addLeaderPart(part: LeaderPart): void;
  start(): void;
  /** Waits for running reconciles, then releases the Lease. */
  stop(): Promise<void>;
  /** Whether this process leads; its report counts even while its controllers are starting. */
  isLeader(): boolean;
  /** The health report (docs/reference/metrics.md#health). */
  report(): ControllerHealth;
}

/** Creates a manager; it has no effect before {@link Manager.start}. */
export function createManager(options: ManagerOptions): Manager {
  const { kube, clock, registry, endProcess, resyncMs } = options;
  const log = options.log.child({ part: 'manager' });
  const informers = createInformers({ kube, clock, log: options.log });
  const metrics = createControllerMetrics(registry);
  const controllers: Controller[] = [];
  const parts: LeaderPart[] = [];
  const started: LeaderPart[] = [];
  let leading = false;
  let stopped = false;
  let term: Term | undefined;

  const startWork = async (signal: AbortSignal) => {
    await Promise.race([informers.whenSynced(), once(signal, 'abort')]);
    if (signal.aborted) return;
    for (const controller of controllers.filter((entry) => entry.registered())) {
      controller.start();
      started.push(controller);
    }
    for (const part of parts) {
      await part.start();
      started.push(part);
    }
    leading = !signal.aborted;
  };

  const endWork = async ({ ending, work }: Term) => {
    leading = false;
    ending.abort();
    await work;
    // At once, because another process may lead: none goes on while another waits for its requests.
    const running = started.splice(0).toReversed();
    await Promise.all(running.map(async (part) => part.stop()));
  };
  /** Ends the work of the current term, once. */
  const endTerm = async () => {
    if (term) await (term.ended ??= endWork(term));
  };

  const endProcessAfterLimit = async (ended: AbortSignal) => {
    await clock.sleep(endLimitMs, ended).catch(() => undefined);
    if (ended.aborted) return;
    log.error({ limitMs: endLimitMs }, 'the controllers do not stop');
    endProcess();
  };

  const lease = createLease({
    ...options.lease,
    kube,
    clock,
    log: options.log,
    onElected() {
      if (stopped) return;
      const ending = new AbortController();
      const work = startWork(ending.signal).catch((error: unknown) => {
        if (!ending.signal.aborted) log.error({ err: error }, 'cannot start the controllers');
      });
      term = { ending, work };
    },
    async onLost() {
      const ended = new AbortController();
      const watched = endProcessAfterLimit(ended.signal);
      try {
        await endTerm();
      } catch (error) {
        log.error({ err: error }, 'cannot stop the controllers');
        endProcess();
      }
      ended.abort();
      await watched;
    },
  });

  return {
    informers,
    add(definition) {
      const controller = createController({
        kube,
        definition,
        informers,
        metrics,
        clock,
        log: options.log,
        ...(resyncMs !== undefined && { resyncMs }),
      });
      controllers.push(controller);
      return controller;
    },
    addLeaderPart(part) {
      parts.push(part);
    },
    start() {
      for (const controller of controllers) {
        try {
          controller.register();
        } catch (error) {
          // The other controllers run, and the health report names this one.
          log.error({ err: error, controller: controller.name }, 'cannot register the controller');
        }
      }
      informers.start();
      lease.start();
    },
    async stop() {
      stopped = true;
      await endTerm();
      await lease.stop();
      await informers.stop();
    },
    isLeader: () => lease.isLeader(),
    report() {
      const managerStarted = leading && lease.isLeader();
      const cacheSynced = informers.synced();
      const list = controllers.map((controller) => ({ name: controller.name, registered: controller.registered() }));
      const healthy = managerStarted && cacheSynced && list.length > 0 && list.every(({ registered }) => registered);
      return { healthy, managerStarted, cacheSynced, controllers: list };
    },
  };
}
