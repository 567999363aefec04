import type { V1Node } from '@kubernetes/client-node';
import type { Logger } from 'pino';
import type { BuiltIn } from '../../runtime/contracts/kubernetes.ts';
import { kinds } from '../../runtime/contracts/resources/kinds.ts';
import type { Clock } from '../../runtime/domain/clock.ts';
import { parseBytes } from '../../runtime/domain/quantity.ts';
import { isKubeError, type KubeClient } from '../../runtime/kube/kube-client.ts';
import { createPeriodicTask, type PeriodicTask } from '../../runtime/process/periodic-task.ts';

const everyMs = 15_000;

type Node = BuiltIn<V1Node>;

/** A node of the cluster. */
export interface ClusterNode {
  name: string;
  ready: boolean;
  /** Its addresses in the cluster's network. */
  addresses: string[];
  /** The memory that its pods can have. */
  memoryBytes?: number;
}

/** Lists the nodes every 15 s. The embedded cluster has no Node objects; it has none here either. */
export interface NodeList extends PeriodicTask {
  current(): readonly ClusterNode[];
}

export function createNodeList(options: { kube: Pick<KubeClient, 'list'>; clock: Clock; log: Logger }): NodeList {
  const { kube, clock, log } = options;
  let nodes: readonly ClusterNode[] = [];
  const task = createPeriodicTask({
    clock,
    pauseMs: () => everyMs,
    async run() {
      const { items } = await kube.list<Node>(kinds.Node);
      nodes = items.map(({ metadata, status }) => ({
        name: metadata.name,
        ready: status?.conditions?.some(({ type, status: state }) => type === 'Ready' && state === 'True') ?? false,
        addresses: (status?.addresses ?? []).flatMap(({ type, address }) => (type === 'Hostname' ? [] : [address])),
        ...memoryOf(status?.allocatable?.['memory']),
      }));
    },
    onError(error) {
      if (!isKubeError(error, 404)) log.warn({ err: error }, 'cannot list the nodes');
    },
  });
  return { ...task, current: () => nodes };
}

function memoryOf(quantity = ''): Pick<ClusterNode, 'memoryBytes'> {
  const memoryBytes = parseBytes(quantity);
  return memoryBytes === undefined ? {} : { memoryBytes };
}
