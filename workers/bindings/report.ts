import type { Stored } from '../../runtime/contracts/kubernetes.ts';
import { bindingStatus, type BindingStatus } from '../../runtime/contracts/resources/binding.ts';
import { workloadResources } from '../../runtime/contracts/resources/kinds.ts';
import { isKubeError, type KubeClient } from '../../runtime/kube/kube-client.ts';
import { writeStatus } from '../../runtime/kube/status.ts';
import type { Configurable } from '../../runtime/workloads/objects.ts';

/** Attempts to write when other writers change the workload between the read and the write. */
const maxTries = 10;

/** Writes a change to the latest version of a workload, if there is one to write. */
type Write = (live: Stored<Configurable>) => Promise<unknown>;

/** Retries on conflicts; does nothing when the workload was deleted or recreated. */
async function change(kube: Pick<KubeClient, 'get'>, { kind, metadata }: Stored<Configurable>, write: Write) {
  for (let attempt = 1; ; attempt++) {
    const live = await kube.get<Configurable>(workloadResources[kind], metadata.name, metadata.namespace);
    if (live?.metadata.uid !== metadata.uid) return;
    try {
      await write(live);
      return;
    } catch (error) {
      if (!isKubeError(error, 409) || attempt === maxTries) throw error;
    }
  }
}

/** Writes a binding's status into its workload, unless the spec has a newer version of the binding. */
export async function reportBinding(
  kube: Pick<KubeClient, 'get' | 'replaceStatus'>,
  resource: Stored<Configurable>,
  report: BindingStatus,
): Promise<void> {
  await change(kube, resource, async (live) => {
    const desired = live.spec.bindings?.find(({ service }) => service === report.service);
    if (desired?.version !== report.version) return;
    const rest = live.status?.bindings?.filter(({ service }) => service !== report.service) ?? [];
    const previous = bindingStatus(live, report);
    const isKept = previous?.applied === true && previous.phase === 'ready' && report.phase === 'ready';
    const bindings = [...rest, { ...report, ...(isKept && { applied: true }) }].sort((a, b) =>
      a.service < b.service ? -1 : 1,
    );
    await writeStatus<Configurable>(kube, live, { ...live.status, bindings });
  });
}

/** Removes a binding from its workload's spec after its database was dropped. */
export async function removeDropped(
  kube: Pick<KubeClient, 'get' | 'replace'>,
  resource: Stored<Configurable>,
  dropped: string,
): Promise<void> {
  await change(kube, resource, async (live) => {
    const { bindings = [], ...rest } = live.spec;
    const remaining = bindings.filter(({ service, dropDatabase }) => service !== dropped || dropDatabase !== true);
    if (remaining.length === bindings.length) return;
    await kube.replace<Configurable>({
      ...live,
      spec: { ...rest, ...(remaining.length > 0 && { bindings: remaining }) },
    } as Stored<Configurable>);
  });
}
