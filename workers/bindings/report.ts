import type { Stored } from '../../runtime/contracts/kubernetes.ts';
import type { FunctionBindingStatus, FunctionResource } from '../../runtime/contracts/resources/function.ts';
import { kinds } from '../../runtime/contracts/resources/kinds.ts';
import { isKubeError, type KubeClient } from '../../runtime/kube/kube-client.ts';
import { writeStatus } from '../../runtime/kube/status.ts';

/** Attempts to write when other writers change the function between the read and the write. */
const maxTries = 10;

/** Writes a change to the latest version of a function, if there is one to write. */
type Write = (live: Stored<FunctionResource>) => Promise<unknown>;

/** Retries on conflicts; does nothing when the function was deleted or recreated. */
async function change(kube: Pick<KubeClient, 'get'>, { metadata }: Stored<FunctionResource>, write: Write) {
  for (let attempt = 1; ; attempt++) {
    const live = await kube.get<FunctionResource>(kinds.Function, metadata.name, metadata.namespace);
    if (live?.metadata.uid !== metadata.uid) return;
    try {
      await write(live);
      return;
    } catch (error) {
      if (!isKubeError(error, 409) || attempt === maxTries) throw error;
    }
  }
}

/** Writes a binding's status into its function, unless the spec has a newer version of the binding. */
export async function reportBinding(
  kube: Pick<KubeClient, 'get' | 'replaceStatus'>,
  resource: Stored<FunctionResource>,
  report: FunctionBindingStatus,
): Promise<void> {
  await change(kube, resource, async (live) => {
    const desired = live.spec.bindings?.find(({ service }) => service === report.service);
    if (desired?.version !== report.version) return;
    const rest = live.status?.bindings?.filter(({ service }) => service !== report.service) ?? [];
    const bindings = [...rest, report].sort((a, b) => (a.service < b.service ? -1 : 1));
    await writeStatus<FunctionResource>(kube, live, { ...live.status, bindings });
  });
}

/** Removes a binding from its function's spec after its database was dropped. */
export async function removeDropped(
  kube: Pick<KubeClient, 'get' | 'replace'>,
  resource: Stored<FunctionResource>,
  dropped: string,
): Promise<void> {
  await change(kube, resource, async (live) => {
    const { bindings = [], ...rest } = live.spec;
    const remaining = bindings.filter(({ service, dropDatabase }) => service !== dropped || dropDatabase !== true);
    if (remaining.length === bindings.length) return;
    await kube.replace<FunctionResource>({
      ...live,
      spec: { ...rest, ...(remaining.length > 0 && { bindings: remaining }) },
    });
  });
}
