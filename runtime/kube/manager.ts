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
  start(): void | Promise<void>;
  stop(): void | Promise<void>;
}

export interface ManagerOptions {
  kube: KubeClient;
  lease: { namespace: string; name: string; identity: string };
  clock: Clock;
  log: Logger;
  registry: Registry;
  /** Called when the leadership is lost and everything is being stopped; the process should end. */
  onLost: () => void;
  /** Default 3,600,000; see {@link createController}. */
  resyncMs?: number;
}

/** Runs controllers while this process is the leader. */
export interface Manager {
  /** Shared with other parts of the process; they run with or without leadership. */
  readonly informers: Informers;
  /** Adds a controller; call it before {@link start}. */
  add(definition: ControllerDefinition): Controller;
  /** Adds a part that starts after the controllers and stops before them; call it before {@link start}. */
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
  const { kube, clock, registry, onLost, resyncMs } = options;
  const log = options.log.child({ part: 'manager' });
  const informers = createInformers({ kube, clock, log: options.log });
  const metrics = createControllerMetrics(registry);
  const controllers: Controller[] = [];
  const parts: LeaderPart[] = [];
  const started: LeaderPart[] = [];
  let leading = false;
  let stopping = false;
  let work: Promise<void> = Promise.resolve();
  let ended: Promise<void> | undefined;

  const startWork = async () => {
    await informers.whenSynced();
    if (stopping) return;
    for (const controller of controllers.filter((entry) => entry.registered())) {
      controller.start();
      started.push(controller);
    }
    for (const part of parts) {
      await part.start();
      started.push(part);
    }
    leading = true;
  };

  const endWork = async () => {
    stopping = true;
    leading = false;
    // First, because a start in progress waits for them.
    await informers.stop();
    await work;
    for (let part = started.pop(); part; part = started.pop()) await part.stop();
  };
  const stopWork = () => (ended ??= endWork());

  const fail = (error: unknown) => {
    if (!stopping) log.error({ err: error }, 'cannot start the controllers');
  };

  const lease = createLease({
    ...options.lease,
    kube,
    clock,
    log: options.log,
    onElected() {
      work = startWork().catch(fail);
    },
    onLost() {
      stopWork().catch((error: unknown) => log.error({ err: error }, 'cannot stop the controllers'));
      onLost();
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
      await stopWork();
      await lease.stop();
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
