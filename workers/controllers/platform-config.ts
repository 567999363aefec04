import type { Stored } from '../../runtime/contracts/kubernetes.ts';
import { kinds } from '../../runtime/contracts/resources/kinds.ts';
import {
  platformConfigName,
  platformConfigSpec,
  type PlatformConfig,
  type PlatformConfigSpec,
} from '../../runtime/contracts/resources/platform-config.ts';
import { isDeepStrictEqual } from 'node:util';
import type { Clock } from '../../runtime/domain/clock.ts';
import { checkHost, functionHost } from '../../runtime/domain/names.ts';
import { setCondition, type ConditionState } from '../../runtime/kube/conditions.ts';
import type { ControllerDefinition } from '../../runtime/kube/controller.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import { writeStatus } from '../../runtime/kube/status.ts';

/** Whether the settings are in force. */
const accepted = 'Accepted';

export interface PlatformConfigController {
  definition: ControllerDefinition<PlatformConfig>;
  /** The last settings that were good; undefined before there were any. */
  current: () => PlatformConfigSpec | undefined;
}

/**
 * Judges the installation's settings and holds the last good ones: bad ones change nothing but the condition `Accepted`.
 * @param onChange called when other settings come into force, the first ones included
 */
export function platformConfigController(options: {
  kube: Pick<KubeClient, 'replaceStatus'>;
  clock: Clock;
  onChange: () => void;
}): PlatformConfigController {
  const { kube, clock, onChange } = options;
  let current: PlatformConfigSpec | undefined;

  const judge = (config: Stored<PlatformConfig>): ConditionState => {
    const { name, generation } = config.metadata;
    const state = { type: accepted, ...(generation !== undefined && { observedGeneration: generation }) };
    if (name !== platformConfigName) {
      const message = `Only the PlatformConfig named "${platformConfigName}" counts.`;
      return { ...state, status: 'False', reason: 'WrongName', message };
    }
    const parsed = parse(config.spec);
    if ('fault' in parsed) return { ...state, status: 'False', reason: 'InvalidSpec', message: parsed.fault };
    if (!isDeepStrictEqual(current, parsed.spec)) {
      current = parsed.spec;
      onChange();
    }
    return { ...state, status: 'True', reason: 'Accepted', message: 'The settings are in force.' };
  };

  return {
    current: () => current,
    definition: {
      name: 'PlatformConfig',
      kind: kinds.PlatformConfig,
      workers: 1,
      async reconcile({ object: config }) {
        if (!config) return;
        const { generation } = config.metadata;
        const conditions = setCondition(config.status?.conditions, judge(config), clock.now());
        await writeStatus<PlatformConfig>(kube, config, {
          ...(generation !== undefined && { observedGeneration: generation }),
          conditions,
        });
      },
    },
  };
}

/** Also what zod does not know: that hosts can be made of it. */
function parse(spec: unknown): { spec: PlatformConfigSpec } | { fault: string } {
  const parsed = platformConfigSpec.safeParse(spec);
  if (!parsed.success) {
    const issues = parsed.error.issues.map(({ path, message }) => `spec.${path.join('.')}: ${message}`);
    return { fault: issues.join('; ') };
  }
  const { appsDomain, cluster } = parsed.data;
  try {
    checkHost(appsDomain, 'appsDomain');
    functionHost('x', cluster, appsDomain);
  } catch (error) {
    return { fault: error instanceof Error ? error.message : String(error) };
  }
  return { spec: parsed.data };
}
