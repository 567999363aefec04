import type { Logger } from 'pino';
import { Registry } from 'prom-client';
import { kinds } from '../../runtime/contracts/resources/kinds.ts';
import { isEnabled, type ComponentStatus } from '../../runtime/contracts/resources/monitoring.ts';
import {
  platformConfigName,
  platformConfigSpec,
  type PlatformConfig,
  type PlatformConfigSpec,
} from '../../runtime/contracts/resources/platform-config.ts';
import type { Clock } from '../../runtime/domain/clock.ts';
import type { StoreName } from '../../runtime/domain/monitoring.ts';
import { createControllerMetrics } from '../../runtime/kube/controller-metrics.ts';
import { createController, type ControllerDefinition } from '../../runtime/kube/controller.ts';
import { createInformers } from '../../runtime/kube/informers.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import { writeStatus } from '../../runtime/kube/status.ts';

/** A store of monitoring that is a part of this process. Calls do not overlap. */
export interface LocalStore {
  /** Opens what is stored, and stores from then on; does nothing when it does so already. @throws Error */
  enable(): Promise<void>;
  /** Stops storing and frees the memory; does nothing when it is disabled. */
  disable(): Promise<void>;
  /** Whether something is stored on the disk. */
  hasData(): boolean;
  /** Deletes what is stored; only while it is disabled. */
  deleteData(): Promise<void>;
}

type Stores = Readonly<Record<StoreName, LocalStore>>;

/** How soon a store that did not start is tried again. */
const retryMs = 30_000;

/** The stores of the embedded cluster, which follow the installation's settings. */
export interface LocalStores {
  /** Enables those that the settings enable; all of them before there are settings. */
  start(): Promise<void>;
  /** Stops following the settings, and disables the stores. */
  stop(): Promise<void>;
}

/** Makes the stores follow `PlatformConfig.spec.monitoring`, and reports their state in the status. */
export function createLocalStores(options: {
  kube: KubeClient;
  stores: Stores;
  clock: Clock;
  log: Logger;
}): LocalStores {
  const { kube, stores, clock } = options;
  const log = options.log.child({ part: 'stores' });
  const informers = createInformers({ kube, clock, log });
  const controller = createController({
    kube,
    definition: localStoresController({ kube, stores, log }),
    informers,
    metrics: createControllerMetrics(new Registry()),
    clock,
    log,
  });
  return {
    async start() {
      const config = await kube.get<PlatformConfig>(kinds.PlatformConfig, platformConfigName);
      await applySettings(stores, acceptedSettings(config) ?? { monitoring: { mode: 'embedded' } }, log);
      controller.register();
      informers.start();
      await informers.whenSynced();
      controller.start();
    },
    async stop() {
      await informers.stop();
      await controller.stop();
      for (const store of Object.values(stores)) await store.disable();
    },
  };
}

/** Reports the state of the stores for the generation of the settings that svc-controllers have checked last. */
export function localStoresController(options: {
  kube: Pick<KubeClient, 'replaceStatus'>;
  stores: Stores;
  log: Logger;
}): ControllerDefinition<PlatformConfig> {
  const { kube, stores, log } = options;
  return {
    name: 'stores',
    kind: kinds.PlatformConfig,
    workers: 1,
    async reconcile({ object: config }) {
      const settings = acceptedSettings(config);
      if (!config || settings?.monitoring?.mode !== 'embedded') return undefined;
      const { generation = 0 } = config.metadata;
      // svc-controllers have not checked the newest settings yet; their status causes another reconcile.
      if (config.status?.observedGeneration !== generation) return undefined;
      const monitoring = await applySettings(stores, settings, log);
      await writeStatus<PlatformConfig>(kube, config, {
        ...config.status,
        monitoring,
        monitoringGeneration: generation,
      });
      return monitoring.some(({ phase }) => phase === 'unhealthy') ? { requeueAfterMs: retryMs } : undefined;
    },
  };
}

function acceptedSettings(config: PlatformConfig | undefined): PlatformConfigSpec | undefined {
  return config?.metadata.name === platformConfigName
    ? platformConfigSpec.safeParse(config.status?.accepted?.spec).data
    : undefined;
}

/** Enables and disables the stores. One that fails is reported, because the platform also runs without it. */
async function applySettings(
  stores: Stores,
  settings: Pick<PlatformConfigSpec, 'monitoring' | 'profile'>,
  log: Logger,
): Promise<ComponentStatus[]> {
  const statuses: ComponentStatus[] = [];
  for (const [name, store] of Object.entries(stores) as [StoreName, LocalStore][]) {
    const enabled = isEnabled(name, settings);
    const deleteData = settings.monitoring?.components?.[name]?.deleteData === true;
    try {
      if (enabled) {
        await store.enable();
        statuses.push({ name, enabled, ready: true, phase: 'on' });
        continue;
      }
      await store.disable();
      if (deleteData) await store.deleteData();
      const kept = store.hasData() && { message: 'its data is kept' };
      statuses.push({ name, enabled, ready: false, phase: 'disabled', ...kept });
    } catch (error) {
      log.error({ err: error, store: name }, 'a store did not follow the settings');
      const message = `its files cannot be ${enabled ? 'opened' : 'closed or deleted'}: read svc-local.log`;
      statuses.push({ name, enabled, ready: false, phase: 'unhealthy', message });
    }
  }
  return statuses;
}
