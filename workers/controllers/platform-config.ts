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
import { setCondition, type ConditionState } from '../../runtime/kube/conditions.ts';
import { managedSelection, type ControllerDefinition } from '../../runtime/kube/controller.ts';
import type { EventRecorder } from '../../runtime/kube/events.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import { writeStatus } from '../../runtime/kube/status.ts';
import { ensureTrustedProxies } from './trusted-proxies.ts';

/** The Event of settings that were refused. */
const settingsRefused = 'SettingsRefused';

export interface PlatformConfigController {
  definition: ControllerDefinition<PlatformConfig>;
  /** The settings in force: the last that were good; undefined before there were any. */
  current: () => PlatformConfigSpec | undefined;
}

/**
 * Judges the installation's settings as a whole. Good ones come into force: they are kept in the status, which is what
 * every reader goes by, and processes that are started with one of them are rolled. Bad ones change nothing but the
 * condition `Accepted`; what was in force stays so, over restarts too.
 * @param onChange called when other settings come into force, the first ones included
 */
export function platformConfigController(options: {
  kube: Pick<KubeClient, 'get' | 'replace' | 'replaceStatus'>;
  events: Pick<EventRecorder, 'record'>;
  clock: Clock;
  onChange: () => void;
}): PlatformConfigController {
  const { kube, events, clock, onChange } = options;
  let current: PlatformConfigSpec | undefined;

  const comeIntoForce = (settings: PlatformConfigSpec): void => {
    if (isDeepStrictEqual(current, settings)) return;
    current = settings;
    onChange();
  };

  const refuse = async (config: Stored<PlatformConfig>, reason: string, message: string): Promise<void> => {
    const { accepted } = config.status ?? {};
    await write(config, accepted, { type: acceptedCondition, status: 'False', reason, message });
    await events.record(config, { type: 'Warning', reason: settingsRefused, message });
  };

  const write = (
    config: Stored<PlatformConfig>,
    accepted: PlatformConfigStatus['accepted'],
    state: ConditionState,
  ): Promise<Stored<PlatformConfig>> => {
    const { generation } = config.metadata;
    const observed = generation !== undefined && { observedGeneration: generation };
    return writeStatus<PlatformConfig>(kube, config, {
      ...observed,
      ...(accepted && { accepted }),
      conditions: setCondition(config.status?.conditions, { ...state, ...observed }, clock.now()),
    });
  };

  return {
    current: () => current,
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
      ],
      async reconcile({ object: config }) {
        if (!config) return;
        const { name, generation = 0 } = config.metadata;
        if (name !== platformConfigName) {
          await refuse(config, 'WrongName', `Only the PlatformConfig named "${platformConfigName}" counts.`);
          return;
        }
        const before = platformConfigSpec.safeParse(config.status?.accepted?.spec).data;
        const checked = checkPlatformConfig(config.spec, before);
        const settings = 'spec' in checked ? checked.spec : before;
        // Before the refusal is told: whatever else waits for settings can go on.
        if (settings) comeIntoForce(settings);
        if ('faults' in checked) {
          const kept = before ? 'What was in force stays so' : 'There are no settings in force';
          await refuse(config, 'InvalidSpec', `${kept}; ${faultsText(checked.faults)}`);
        } else {
          const message = 'The settings are in force.';
          const state = { type: acceptedCondition, status: 'True', reason: 'Accepted', message } as const;
          await write(config, { generation, spec: checked.spec }, state);
        }
        if (settings) await ensureTrustedProxies(kube, settings.trustedProxies ?? []);
      },
    },
  };
}
