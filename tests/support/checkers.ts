import { eventually, type Platform } from './platform.ts';
import { scaled } from './replicas.ts';
import { targetOf, type Teardown } from './target/target.ts';

/** A pod of svc-authz. */
export interface CheckerPod {
  name: string;
  ip: string;
  ready: boolean;
  restarts: number;
}

interface Pod {
  metadata: { name: string; deletionTimestamp?: string };
  status: { podIP?: string; containerStatuses?: { ready: boolean; restartCount: number }[] };
}

/** What happens to the gate's checkers in a test of faults. Each of them is as it was when the test ends. */
export interface Checkers {
  /** Those that are not being deleted. */
  pods(): Promise<CheckerPod[]>;
  /** Resolves when so many are ready and no others are there, such as are being deleted and still answer. */
  ready(count: number): Promise<CheckerPod[]>;
  /** Drops what they send to the store, in the way in which a network does that has failed: nobody is told. */
  cutOffStore(): Promise<void>;
  reconnectStore(): Promise<void>;
}

const namespace = 'svc-system';
export const checkerReplicas = 2;

/** So many connections at once meet every checker, all but surely: the ingress keeps two and opens the others anew. */
const manyAtOnce = 20;

/** Asks all checkers, by many requests at once. */
export function askAll<T>(ask: () => Promise<T>): Promise<T[]> {
  return Promise.all(Array.from({ length: manyAtOnce }, ask));
}

/** Resolves when the answers of all checkers hold. */
export async function allHold<T>(ask: () => Promise<T>, holds: (answer: T) => boolean): Promise<void> {
  await eventually(
    () => askAll(ask),
    (answers) => answers.every(holds),
  );
}

function stays({ metadata }: Pod): boolean {
  return metadata.deletionTimestamp === undefined;
}

function podOf({ metadata, status: { podIP = '', containerStatuses = [] } }: Pod): CheckerPod {
  return {
    name: metadata.name,
    ip: podIP,
    ready: containerStatuses.length > 0 && containerStatuses.every(({ ready }) => ready),
    restarts: containerStatuses.reduce((sum, { restartCount }) => sum + restartCount, 0),
  };
}

/** The checkers of the platform: two of them, with a switch before their store, until the test ends. */
export async function checkersOf(t: Teardown, platform: Platform): Promise<Checkers> {
  const all = async (): Promise<Pod[]> => {
    const found = await eventually(
      () => platform.kubectl('-n', namespace, 'get', 'pods', '-l', 'app=svc-authz', '-o', 'json'),
      ({ code }) => code === 0,
    );
    return (JSON.parse(found.stdout) as { items: Pod[] }).items;
  };
  const pods = async () => (await all()).filter(stays).map(podOf);
  const ready = async (count: number) => {
    const found = await eventually(
      all,
      (items) => items.length === count && items.every((pod) => stays(pod) && podOf(pod).ready),
    );
    return found.map(podOf);
  };
  await scaled(t, platform, 'svc-authz', checkerReplicas);
  const store = await targetOf(platform).storeSwitch(t);
  return {
    pods,
    ready,
    cutOffStore: async () => store.cut(await ready(checkerReplicas)),
    reconnectStore: () => store.restore(),
  };
}
