import type { Stored } from '../../../runtime/contracts/kubernetes.ts';
import { isKubeError } from '../../../runtime/kube/kube-client.ts';
import { bindPod, declaredPorts } from './binding.ts';
import { readPod, retry, type PodContext } from './pod-context.ts';
import { allContainers, type NodePod } from './pod-spec.ts';

/**
 * Binds the pod to this node and stores it with its port numbers. Repeats until that succeeds.
 * @param lostPorts for a pod that is already bound: the ports that it cannot keep
 * @returns undefined when the pod stops or is gone
 */
export async function storeBinding(
  context: PodContext,
  lostPorts?: readonly number[],
): Promise<Stored<NodePod> | undefined> {
  const { runtime, log, stopping } = context;
  const { kube, ports, nodeName } = runtime;
  const bindLive = async () => {
    const live = await readPod(context);
    if (live?.metadata.uid !== context.pod.metadata.uid) return undefined;
    const bound = await bindPod(live, nodeName, ports, lostPorts);
    if (bound === live) return live;
    return kube.replace(bound).catch((error: unknown) => {
      // The next attempt takes these ports again, or other ones.
      const previous = lostPorts ? declaredPorts(allContainers(live)) : [];
      ports.release(declaredPorts(allContainers(bound)).filter((port) => !previous.includes(port)));
      throw error;
    });
  };
  return retry(context, stopping.signal, bindLive, (error) => {
    if (!isKubeError(error, 409)) log.warn({ err: error }, 'pod not bound');
  });
}
