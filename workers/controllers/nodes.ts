import type { V1Node } from '@kubernetes/client-node';
import type { Logger } from 'pino';
import type { BuiltIn } from '../../runtime/contracts/kubernetes.ts';
import { kinds } from '../../runtime/contracts/resources/kinds.ts';
import type { Clock } from '../../runtime/domain/clock.ts';
import { isKubeError, type KubeClient } from '../../runtime/kube/kube-client.ts';

const everyMs = 15_000;

type Node = BuiltIn<V1Node>;

/** A node of the cluster. */
export interface ClusterNode {
  name: string;
  ready: boolean;
  /** Its addresses in the cluster's network. */
  addresses: string[];
}

/** Lists the nodes every 15 s. The embedded cluster has no Node objects; it has none here either. */
export interface NodeList {
  current(): readonly ClusterNode[];
  start(): void;
  stop(): Promise<void>;
}

export function createNodeList(options: { kube: Pick<KubeClient, 'list'>; clock: Clock; log: Logger }): NodeList {
  const { kube, clock, log } = options;
  const stopping = new AbortController();
  let nodes: readonly ClusterNode[] = [];
  let running: Promise<void> | undefined;

  const run = async () => {
    while (!stopping.signal.aborted) {
      try {
        nodes = (await kube.list<Node>(kinds.Node)).items.map(({ metadata, status }) => ({
          name: metadata.name,
          ready: status?.conditions?.some(({ type, status: state }) => type === 'Ready' && state === 'True') ?? false,
          addresses: (status?.addresses ?? []).flatMap(({ type, address }) => (type === 'Hostname' ? [] : [address])),
        }));
      } catch (error) {
        if (!isKubeError(error, 404)) log.warn({ err: error }, 'cannot list the nodes');
      }
      await clock.sleep(everyMs, stopping.signal).catch(() => undefined);
    }
  };

  return {
    current: () => nodes,
    start() {
      running ??= run();
    },
    async stop() {
      stopping.abort(new Error('the list of nodes was stopped'));
      await running;
    },
  };
}
