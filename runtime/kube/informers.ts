import type { Logger } from 'pino';
import type { KubeObject } from '../contracts/kubernetes.ts';
import type { ResourceKind } from '../contracts/resources/kinds.ts';
import type { Clock } from '../domain/clock.ts';
import { createInformer, type Informer } from './informer.ts';
import type { KubeClient, Selection } from './kube-client.ts';

/** A watch without a sign of life for longer than this no longer proves that its copy is current. */
const freshMs = 300_000;

/** The informers of one process: one per kind and selection, shared by all who ask. */
export interface Informers {
  /** The informer of these objects; made on the first call, and started with the others or at once if they are. */
  of<T extends KubeObject>(kind: ResourceKind, selection?: Selection): Informer<T>;
  start(): void;
  stop(): Promise<void>;
  /** Whether every informer has its first list and saw a sign of life within five minutes. */
  synced(): boolean;
  whenSynced(): Promise<void>;
}

export function createInformers(options: {
  kube: Pick<KubeClient, 'list' | 'watch'>;
  clock: Clock;
  log: Logger;
}): Informers {
  const informers = new Map<string, Informer<KubeObject>>();
  let started = false;
  return {
    of<T extends KubeObject>(kind: ResourceKind, selection: Selection = {}) {
      const { namespace = '', labelSelector = '', fieldSelector = '' } = selection;
      const key = [kind.apiVersion, kind.kind, namespace, labelSelector, fieldSelector].join('\n');
      const informer = informers.get(key) ?? createInformer<KubeObject>({ ...options, kind, selection });
      informers.set(key, informer);
      if (started) informer.start();
      return informer as unknown as Informer<T>;
    },
    start() {
      started = true;
      for (const informer of informers.values()) informer.start();
    },
    async stop() {
      await Promise.all([...informers.values()].map((informer) => informer.stop()));
    },
    synced: () =>
      started && [...informers.values()].every((informer) => informer.synced() && informer.lastSeenMs() < freshMs),
    async whenSynced() {
      await Promise.all([...informers.values()].map((informer) => informer.whenSynced()));
    },
  };
}
