import type { Logger } from 'pino';
import type { KubeObject, Stored } from '../contracts/kubernetes.ts';
import type { ResourceKind } from '../contracts/resources/kinds.ts';
import { idLabel } from '../domain/labels.ts';
import type { Clock } from '../domain/clock.ts';
import { createInformer, type Informer } from './informer.ts';
import type { KubeCache, KubeClient, Selection } from './kube-client.ts';

/** An informer without a list, event or bookmark for this long counts as outdated. */
const freshMs = 300_000;

/** The informers of one process: one for each kind and selection, shared by all users. */
export interface Informers {
  /** The informer of these objects, created on the first call; started with the others, or at once after {@link start}. */
  of<T extends KubeObject>(kind: ResourceKind, selection?: Selection): Informer<T>;
  start(): void;
  stop(): Promise<void>;
  /** Whether every informer has its first list, and an event or bookmark within five minutes. */
  synced(): boolean;
  whenSynced(): Promise<void>;
  /** Reads from all of them. */
  readonly cache: KubeCache;
}

export function createInformers(options: {
  kube: Pick<KubeClient, 'list' | 'watch'>;
  clock: Clock;
  log: Logger;
  /** Default 1,800,000; see {@link createInformer}. */
  relistMs?: number;
}): Informers {
  const informers = new Map<string, Informer<KubeObject>>();
  let started = false;
  const ofKind = ({ apiVersion, kind }: ResourceKind) =>
    [...informers.values()].filter(
      (informer) => informer.kind.kind === kind && informer.kind.apiVersion === apiVersion && informer.synced(),
    );

  const cache: KubeCache = {
    get<T extends KubeObject>(kind: ResourceKind, name: string, namespace?: string) {
      for (const informer of ofKind(kind)) {
        const object = informer.get(name, namespace);
        if (object) return object as Stored<T>;
      }
      return undefined;
    },
    list<T extends KubeObject>(kind: ResourceKind, labels: Readonly<Record<string, string>>, namespace?: string) {
      const informer = ofKind(kind).find(({ selection }) => includes(selection, labels, namespace));
      if (!informer) return undefined;
      const entries = Object.entries(labels);
      // Every reconcile reads like this, so that a scan of all objects would take a time that grows with their square.
      const id = labels[idLabel];
      const candidates =
        id !== undefined
          ? informer.listLabeled(idLabel, id)
          : namespace !== undefined
            ? informer.listIn(namespace)
            : informer.list();
      return candidates.filter(({ metadata }) => {
        if (namespace !== undefined && metadata.namespace !== namespace) return false;
        return entries.every(([label, value]) => metadata.labels?.[label] === value);
      }) as Stored<T>[];
    },
  };

  return {
    cache,
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

/** Whether the selection contains all objects with these labels. */
function includes(
  { namespace: only, labelSelector, fieldSelector }: Selection,
  labels: Readonly<Record<string, string>>,
  namespace: string | undefined,
): boolean {
  if (fieldSelector !== undefined || (only !== undefined && only !== namespace)) return false;
  const terms = labelSelector?.split(',') ?? [];
  return terms.every((term) => {
    const [label = '', value] = term.split('=');
    return labels[label] !== undefined && (value === undefined || labels[label] === value);
  });
}
