import type { ComponentUpdate, PlatformStatus } from '../../runtime/contracts/api/platform.ts';
import type { PlatformState } from '../../runtime/contracts/platform-state.ts';
import { isEnabled, memoryOf, possibleComponents } from '../../runtime/contracts/resources/monitoring.ts';
import type { PlatformConfig, PlatformConfigSpec } from '../../runtime/contracts/resources/platform-config.ts';
import type { ComponentName } from '../../runtime/domain/monitoring.ts';
import { Problem } from '../../runtime/domain/problem.ts';
import { formatBytes, parseBytes } from '../../runtime/domain/quantity.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import type { StoredSettings } from '../../runtime/workloads/platform-config.ts';
import { writeSettings } from './store.ts';

const mebibyte = 2 ** 20;

type ComponentView = PlatformStatus['components'][number];

/** The components of monitoring, as the controllers reported them and with changes that they have not applied yet. */
export function componentsOf({ config, settings }: StoredSettings): ComponentView[] {
  const isApplied = config.status?.monitoringGeneration === config.metadata.generation;
  return (config.status?.monitoring ?? []).map(({ name, enabled, phase, memory, raised, notRaised, message }) => {
    const desired = isApplied ? settings : config.spec;
    const hasToStop = enabled || desired.monitoring?.components?.[name]?.deleteData === true;
    const pending = isEnabled(name, desired) ? 'starting' : hasToStop ? 'stopping' : 'disabled';
    const status = isApplied ? phase : pending;
    // What runs has its limit until it is changed; what does not run has the new one at once.
    const limit = status === 'disabled' ? memoryOf(name, desired, raised).limit : memory;
    return {
      name,
      status,
      ...(memory !== undefined && { memory: limit }),
      ...(raised && { raised }),
      ...(notRaised && { notRaised }),
      // A component that is and stays disabled is what its message says, whatever else the new settings change.
      ...((isApplied || status === 'disabled') && message !== undefined && { message }),
    };
  });
}

/**
 * Enables, disables or resizes a component.
 * @param nodes of the cluster; none are known while the controllers do not report them
 * @throws Problem `component_not_installed` when the installation cannot run it, `invalid_request` for a change of
 * nothing, `invalid_value` for more memory than a node has, and as `writeSettings`
 */
export async function changeComponent(
  { kube, nodes }: { kube: Pick<KubeClient, 'get' | 'replace'>; nodes: () => Promise<PlatformState['nodes']> },
  name: ComponentName,
  update: ComponentUpdate,
): Promise<ComponentView> {
  if (Object.keys(update).length === 0) {
    throw new Problem('invalid_request', 'The request changes nothing. Set enabled or memory.');
  }
  if (update.deleteData !== undefined && update.enabled !== false) {
    throw new Problem('invalid_request', 'deleteData is only valid together with "enabled": false.');
  }
  if (typeof update.memory === 'string') checkFits(update.memory, await nodes().catch(() => []));
  const result = await writeSettings(kube, (settings, config) => applyUpdate(name, update, settings, config));
  const view = componentsOf(result).find((component) => component.name === name);
  return view ?? { name, status: 'starting' };
}

/** No node would accept the pod, or its limit would end nothing before the node itself has no memory left. */
function checkFits(memory: string, nodes: PlatformState['nodes']): void {
  const largest = Math.max(...nodes.map(({ memoryBytes = 0 }) => memoryBytes));
  if (!(largest > 0) || (parseBytes(memory) ?? 0) <= largest) return;
  const most = formatBytes(Math.floor(largest / mebibyte) * mebibyte);
  throw new Problem(
    'invalid_value',
    `No node of the cluster has ${memory} of memory. Set at most ${most}, which is what pods can have on the largest node.`,
    { details: { field: 'memory' } },
  );
}

function applyUpdate(
  name: ComponentName,
  { enabled, deleteData, memory }: ComponentUpdate,
  settings: PlatformConfigSpec,
  { status }: PlatformConfig,
): PlatformConfigSpec {
  const { monitoring } = settings;
  if (!monitoring) {
    const message = 'This installation has no components of monitoring; run `svc install` again to get them.';
    throw new Problem('component_not_installed', message);
  }
  // The controllers report exactly the components that this installation can run.
  if (!status?.monitoring?.some((component) => component.name === name)) {
    const names = possibleComponents(monitoring);
    const hint = names.includes(name) ? '' : ` In the embedded cluster there are ${names.join(' and ')} only.`;
    throw new Problem('component_not_installed', `This installation cannot run the component ${name}.${hint}`);
  }
  const { memory: before, enabled: wasEnabled, deleteData: wasDeleted } = monitoring.components?.[name] ?? {};
  const next = {
    enabled: enabled ?? wasEnabled,
    // Enabling cancels an earlier request to delete the data.
    deleteData: enabled === undefined ? wasDeleted : deleteData === true || undefined,
    memory: memory === undefined ? before : (memory ?? undefined),
  };
  const component = Object.fromEntries(Object.entries(next).filter(([, value]) => value !== undefined));
  return { ...settings, monitoring: { ...monitoring, components: { ...monitoring.components, [name]: component } } };
}
