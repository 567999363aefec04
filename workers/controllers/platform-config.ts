import { isDeepStrictEqual } from 'node:util';
import { proxyAwareProcesses } from '../../infra/manifests/platform/processes.ts';
import type { Stored } from '../../runtime/contracts/kubernetes.ts';
import { kinds } from '../../runtime/contracts/resources/kinds.ts';
import { checkPlatformConfig, faultsText } from '../../runtime/contracts/resources/platform-config-check.ts';
import {
  acceptedCondition,
  platformConfigName,
  platformConfigSpec,
  type PlatformConfig,
  type PlatformConfigSpec,
  type PlatformConfigStatus,
} from '../../runtime/contracts/resources/platform-config.ts';
import type { Clock } from '../../runtime/domain/clock.ts';
import { systemNamespace } from '../../runtime/domain/labels.ts';
import { monitoringNamespace, shipperNamespace } from '../../runtime/domain/monitoring.ts';
import { setCondition, type ConditionState } from '../../runtime/kube/conditions.ts';
import { managedSelection, type ControllerDefinition, type WatchDefinition } from '../../runtime/kube/controller.ts';
import type { EventRecorder } from '../../runtime/kube/events.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import { writeStatus } from '../../runtime/kube/status.ts';
import { createMonitoring } from './monitoring.ts';
import { ensureTrustedProxies } from './trusted-proxies.ts';

/** The components of monitoring are pods of these namespaces; their readiness and their kills show in the pods. */
const componentWatches: readonly WatchDefinition[] = [monitoringNamespace, shipperNamespace].map((namespace) => ({
  kind: kinds.Pod,
  selection: { namespace, ...managedSelection },
  keysOf: () => [{ name: platformConfigName }],
}));

/** The reason of the Event for rejected settings. */
const settingsRefused = 'SettingsRefused';

export interface PlatformConfigController {
  definition: ControllerDefinition<PlatformConfig>;
  /** The active settings: the last valid ones; undefined before there were any. */
  current: () => PlatformConfigSpec | undefined;
}

/**
 * Validates the installation's settings as a whole. Valid settings become active: they are stored in the status, which
 * all processes read, processes that get a setting as an argument are restarted, and the components of monitoring follow.
 * Invalid settings change only the condition `Accepted`; the previous ones stay active, also after a restart.
 * @param onChange called when other settings become active, including the first ones
 */
export function platformConfigController(options: {
  kube: Pick<KubeClient, 'get' | 'list' | 'create' | 'replace' | 'replaceStatus' | 'delete' | 'cache'>;
  events: Pick<EventRecorder, 'record'>;
  clock: Clock;
  onChange: () => void;
}): PlatformConfigController {
  const { kube, events, clock, onChange } = options;
  let active: PlatformConfigSpec | undefined;
  const reconcileMonitoring = createMonitoring({ kube, clock });

  /** After a start, those that an earlier process stored, so that no object waits for the first reconcile. */
  const current = (): PlatformConfigSpec | undefined => {
    active ??= acceptedBefore(kube.cache?.get<PlatformConfig>(kinds.PlatformConfig, platformConfigName));
    return active;
  };

  const comeIntoForce = (settings: PlatformConfigSpec): void => {
    if (isDeepStrictEqual(current(), settings)) return;
    active = settings;
    onChange();
  };

  const refuse = async (config: Stored<PlatformConfig>, reason: string, message: string) => {
    const { accepted } = config.status ?? {};
    const written = await write(config, accepted, { type: acceptedCondition, status: 'False', reason, message });
    await events.record(config, { type: 'Warning', reason: settingsRefused, message });
    return written;
  };

  const write = (
    config: Stored<PlatformConfig>,
    accepted: PlatformConfigStatus['accepted'],
    state: ConditionState,
  ): Promise<Stored<PlatformConfig>> => {
    const { generation } = config.metadata;
    const observed = generation !== undefined && { observedGeneration: generation };
    const { monitoring, monitoringGeneration: followed } = config.status ?? {};
    return writeStatus<PlatformConfig>(kube, config, {
      ...observed,
      ...(accepted && { accepted }),
      ...(monitoring && { monitoring }),
      ...(followed !== undefined && { monitoringGeneration: followed }),
      conditions: setCondition(config.status?.conditions, { ...state, ...observed }, clock.now()),
    });
  };

  return {
    current,
    definition: {
      name: 'PlatformConfig',
      kind: kinds.PlatformConfig,
      workers: 1,
      watches: [
        {
          kind: kinds.Deployment,
          selection: managedSelection,
          ignoreStatus: true,
          keysOf: ({ metadata: { namespace, name } }) =>
            namespace === systemNamespace && proxyAwareProcesses.some((process) => process === name)
              ? [{ name: platformConfigName }]
              : [],
        },
        ...componentWatches,
      ],
      async reconcile({ object: config }) {
        if (!config) return undefined;
        const { name, generation = 0 } = config.metadata;
        if (name !== platformConfigName) {
          await refuse(config, 'WrongName', `Only the PlatformConfig named "${platformConfigName}" is used.`);
          return undefined;
        }
        const before = acceptedBefore(config);
        const checked = checkPlatformConfig(config.spec, before);
        const settings = 'spec' in checked ? checked.spec : before;
        // Before the rejection is reported, so that everything that waits for settings can continue.
        if (settings) comeIntoForce(settings);
        let written: Stored<PlatformConfig>;
        if ('faults' in checked) {
          const outcome = before ? 'The previous settings stay active' : 'No settings are active';
          written = await refuse(config, 'InvalidSpec', `${outcome}; ${faultsText(checked.faults)}`);
        } else {
          const message = 'The settings are active.';
          const state = { type: acceptedCondition, status: 'True', reason: 'Accepted', message } as const;
          written = await write(config, { generation, spec: checked.spec }, state);
        }
        if (!settings) return undefined;
        await ensureTrustedProxies(kube, settings.trustedProxies ?? []);
        // There, its process has the stores and reports their state (infra/local/stores.ts).
        if (settings.monitoring?.mode === 'embedded') return undefined;
        const { monitoring: components, monitoringGeneration: _, ...status } = written.status ?? {};
        const { statuses, ...outcome } = await reconcileMonitoring(settings, components);
        const monitoring = statuses.length > 0 && { monitoring: statuses, monitoringGeneration: generation };
        await writeStatus<PlatformConfig>(kube, written, { ...status, ...monitoring });
        return outcome;
      },
    },
  };
}

/** The settings that were valid last. */
function acceptedBefore(config: PlatformConfig | undefined): PlatformConfigSpec | undefined {
  return platformConfigSpec.safeParse(config?.status?.accepted?.spec).data;
}
