import type { Logger } from 'pino';
import type { KubeObject, ObjectRef } from '../contracts/kubernetes.ts';
import type { Clock } from '../domain/clock.ts';
import { createInformer, type Informer } from './informer.ts';
import type { KubeClient } from './kube-client.ts';
import { blockerState, type Blocker } from './blocker.ts';
import { resourceOf } from './resource-paths.ts';

/** Maximum watches; further blockers are only checked when the reconcile is retried. */
const watchesMax = 100;

/**
 * Watches the objects that block the reconcile of keys. The informers do not show them, because they select the platform's
 * label.
 */
export interface BlockerWatch {
  /** Replaces the blockers of a key after each reconcile. */
  set(key: string, blockers: readonly Blocker[]): void;
  stop(): Promise<void>;
}

interface Entry {
  informer: Informer<KubeObject>;
  /** The state of the blocker at the last reconcile of each key. */
  keys: Map<string, string>;
}

/** @param onCleared called once for each key when a blocker changed or was deleted */
export function createBlockerWatch(options: {
  kube: Pick<KubeClient, 'list' | 'watch'>;
  clock: Clock;
  log: Logger;
  onCleared: (key: string) => void;
}): BlockerWatch {
  const { kube, clock, log, onCleared } = options;
  const entries = new Map<string, Entry>();
  const ending = new Set<Promise<void>>();
  let stopped = false;

  const check = ({ informer, keys }: Entry, { name, namespace }: ObjectRef) => {
    if (!informer.synced()) return;
    const current = blockerState(informer.get(name, namespace));
    for (const [key, state] of keys) {
      if (state === current) continue;
      // Reports each change once; the reconcile that follows sets the blockers again.
      keys.set(key, current);
      onCleared(key);
    }
  };

  const end = ({ informer }: Entry) => {
    const ended = informer.stop().finally(() => ending.delete(ended));
    ending.add(ended);
  };

  const watch = (ref: ObjectRef): Entry => {
    const { name, namespace } = ref;
    const selection = { ...(namespace !== undefined && { namespace }), fieldSelector: `metadata.name=${name}` };
    const informer = createInformer<KubeObject>({ kube, kind: resourceOf(ref), selection, clock, log });
    const entry: Entry = { informer, keys: new Map() };
    informer.onChange(() => check(entry, ref));
    // A blocker that was deleted before the first list causes no change.
    informer.whenSynced().then(
      () => check(entry, ref),
      () => undefined,
    );
    informer.start();
    return entry;
  };

  return {
    set(key, blockers) {
      if (stopped) return;
      const current = new Map(blockers.map(({ ref, state }) => [refText(ref), { ref, state }]));
      for (const [text, entry] of entries) {
        if (current.has(text) || !entry.keys.delete(key) || entry.keys.size > 0) continue;
        entries.delete(text);
        end(entry);
      }
      for (const [text, { ref, state }] of current) {
        const existing = entries.get(text);
        if (!existing && entries.size >= watchesMax) continue;
        const entry = existing ?? watch(ref);
        entries.set(text, entry);
        entry.keys.set(key, state);
        check(entry, ref);
      }
    },
    async stop() {
      stopped = true;
      for (const entry of entries.values()) end(entry);
      entries.clear();
      await Promise.all(ending);
    },
  };
}

function refText({ apiVersion, kind, namespace = '', name }: ObjectRef): string {
  return [apiVersion, kind, namespace, name].join('\n');
}
