import type { Stored } from '../../runtime/contracts/kubernetes.ts';
import type { FunctionBindingStatus, FunctionResource } from '../../runtime/contracts/resources/function.ts';
import { kinds } from '../../runtime/contracts/resources/kinds.ts';
import { isKubeError, type KubeClient } from '../../runtime/kube/kube-client.ts';
import { writeStatus } from '../../runtime/kube/status.ts';

/** Writers of the same function between read and write. */
const maxTries = 10;

/** What a change makes of a function as it is now; undefined where there is nothing to change. */
type Change = (live: Stored<FunctionResource>) => Promise<unknown>;

/** Changes the very function that was read, however many others do so at once. */
async function change(kube: Pick<KubeClient, 'get'>, { metadata }: Stored<FunctionResource>, write: Change) {
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

/** Shows how far a binding is in its function's status, unless it was asked for anew meanwhile. */
export async function reportBinding(
  kube: Pick<KubeClient, 'get' | 'replaceStatus'>,
  resource: Stored<FunctionResource>,
  report: FunctionBindingStatus,
): Promise<void> {
  await change(kube, resource, async (live) => {
    const wanted = live.spec.bindings?.find(({ service }) => service === report.service);
    if (wanted?.version !== report.version) return;
    const others = live.status?.bindings?.filter(({ service }) => service !== report.service) ?? [];
    const bindings = [...others, report].sort((a, b) => (a.service < b.service ? -1 : 1));
    await writeStatus<FunctionResource>(kube, live, { ...live.status, bindings });
  });
}

/** Takes a binding that has gone with its database out of its function's spec. */
export async function removeDropped(
  kube: Pick<KubeClient, 'get' | 'replace'>,
  resource: Stored<FunctionResource>,
  dropped: string,
): Promise<void> {
  await change(kube, resource, async (live) => {
    const { bindings = [], ...rest } = live.spec;
    const left = bindings.filter(({ service, dropDatabase }) => service !== dropped || dropDatabase !== true);
    if (left.length === bindings.length) return;
    await kube.replace<FunctionResource>({ ...live, spec: { ...rest, ...(left.length > 0 && { bindings: left }) } });
  });
}
