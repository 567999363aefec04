import type { Logger } from 'pino';
import type { KubeObject, ObjectRef } from '../contracts/kubernetes.ts';
import type { Clock } from '../domain/clock.ts';
import { createInformer, type Informer } from './informer.ts';
import type { KubeClient } from './kube-client.ts';
import { standingOf, type Obstacle } from './obstacle.ts';
import { resourceOf } from './resource-paths.ts';

/** Each costs a watch; what is in the way beyond that is found by the back-off. */
const watchesMax = 100;

/**
 * Watches the objects that stand in the way of keys. The platform's own watches do not show them: they see only what
 * carries its label.
 */
export interface ObstacleWatch {
  /** What is in the key's way by its last pass; nothing when the list is empty. */
  set(key: string, obstacles: readonly Obstacle[]): void;
  stop(): Promise<void>;
}

interface Watched {
  informer: Informer<KubeObject>;
  /** By key: what its pass saw. */
  keys: Map<string, string>;
}

/** @param onCleared called once with each key whose obstacle is another one by now, or gone */
export function createObstacleWatch(options: {
  kube: Pick<KubeClient, 'list' | 'watch'>;
  clock: Clock;
  log: Logger;
  onCleared: (key: string) => void;
}): ObstacleWatch {
  const { kube, clock, log, onCleared } = options;
  const watched = new Map<string, Watched>();
  const ending = new Set<Promise<void>>();
  let stopped = false;

  const judge = ({ informer, keys }: Watched, { name, namespace }: ObjectRef) => {
    if (!informer.synced()) return;
    const now = standingOf(informer.get(name, namespace));
    for (const [key, seen] of keys) {
      if (seen === now) continue;
      // Once: the pass that follows says what it finds.
      keys.set(key, now);
      onCleared(key);
    }
  };

  const end = ({ informer }: Watched) => {
    const ended = informer.stop().finally(() => ending.delete(ended));
    ending.add(ended);
  };

  const watch = (ref: ObjectRef): Watched => {
    const { name, namespace } = ref;
    const selection = { ...(namespace !== undefined && { namespace }), fieldSelector: `metadata.name=${name}` };
    const informer = createInformer<KubeObject>({ kube, kind: resourceOf(ref), selection, clock, log });
    const entry: Watched = { informer, keys: new Map() };
    informer.onChange(() => judge(entry, ref));
    // It may be gone before the first list, which then brings no change.
    informer.whenSynced().then(
      () => judge(entry, ref),
      () => undefined,
    );
    informer.start();
    return entry;
  };

  return {
    set(key, obstacles) {
      if (stopped) return;
      const wanted = new Map(obstacles.map(({ ref, seen }) => [textOf(ref), { ref, seen }]));
      for (const [text, entry] of watched) {
        if (wanted.has(text) || !entry.keys.delete(key) || entry.keys.size > 0) continue;
        watched.delete(text);
        end(entry);
      }
      for (const [text, { ref, seen }] of wanted) {
        const known = watched.get(text);
        if (!known && watched.size >= watchesMax) continue;
        const entry = known ?? watch(ref);
        watched.set(text, entry);
        entry.keys.set(key, seen);
        judge(entry, ref);
      }
    },
    async stop() {
      stopped = true;
      for (const entry of watched.values()) end(entry);
      watched.clear();
      await Promise.all(ending);
    },
  };
}

function textOf({ apiVersion, kind, namespace = '', name }: ObjectRef): string {
  return [apiVersion, kind, namespace, name].join('\n');
}
