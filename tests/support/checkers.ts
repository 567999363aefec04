import { run } from '../../infra/demo/program.ts';
import { eventually, type Platform } from './platform.ts';

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
  /** Resolves when so many are ready and no others are there. */
  ready(count: number): Promise<CheckerPod[]>;
  /** Sends a signal to the checker's process, whose parent is the container's init. */
  signal(pod: CheckerPod, signal: 'STOP' | 'CONT' | 'KILL'): Promise<void>;
  /** Drops what they send to the store, in the way in which a network does that has failed: nobody is told. */
  cutOffStore(): Promise<void>;
  reconnectStore(): Promise<void>;
}

const namespace = 'svc-system';
export const checkerReplicas = 2;
const storePort = '5432';

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

/** The checkers of the platform. */
export function checkersOf(t: { teardown(end: () => unknown): void }, platform: Platform): Checkers {
  const pods = async (): Promise<CheckerPod[]> => {
    const found = await platform.kubectl('-n', namespace, 'get', 'pods', '-l', 'app=svc-authz', '-o', 'json');
    const { items } = JSON.parse(found.stdout || '{"items":[]}') as { items: Pod[] };
    return items
      .filter(({ metadata }) => metadata.deletionTimestamp === undefined)
      .map(({ metadata, status }) => ({
        name: metadata.name,
        ip: status.podIP ?? '',
        ready: status.containerStatuses?.every(({ ready }) => ready) ?? false,
        restarts: (status.containerStatuses ?? []).reduce((sum, { restartCount }) => sum + restartCount, 0),
      }));
  };
  const ready = (count: number) =>
    eventually(pods, (found) => found.length === count && found.every((pod) => pod.ready));

  let rules: string[][] = [];
  const iptables = async (action: '-I' | '-D', rule: string[]) => {
    const ended = await run('iptables', ['-w', action, 'FORWARD', ...rule]);
    if (ended.code !== 0) throw new Error(ended.stderr);
  };
  const reconnectStore = async () => {
    const added = rules;
    rules = [];
    for (const rule of added) await iptables('-D', rule);
  };
  t.teardown(reconnectStore);

  return {
    pods,
    ready,
    async signal(pod, signal) {
      const command = `kill -${signal} $(cat /proc/1/task/1/children)`;
      const ended = await platform.kubectl('-n', namespace, 'exec', pod.name, '--', 'sh', '-c', command);
      // Whoever kills its container may not live to hear of it.
      if (ended.code !== 0 && signal !== 'KILL') throw new Error(ended.stderr);
    },
    async cutOffStore() {
      for (const { ip } of await ready(checkerReplicas)) {
        const rule = ['-s', ip, '-p', 'tcp', '--dport', storePort, '-j', 'DROP'];
        await iptables('-I', rule);
        rules.push(rule);
      }
    },
    reconnectStore,
  };
}
