import { requestThroughIngress } from '../../infra/demo/ingress.ts';
import { eventually, type Platform } from './platform.ts';
import { scaled } from './replicas.ts';
import { targetOf, type Teardown } from './target/target.ts';

/** A pod of svc-authz. */
export interface CheckerPod {
  name: string;
  ip: string;
  /** Where it listens for the ingress. */
  port: number;
  ready: boolean;
  restarts: number;
}

interface Pod {
  metadata: { name: string; deletionTimestamp?: string };
  spec: { containers: { ports: { name: string; containerPort: number }[] }[] };
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

/**
 * What each checker says of a key of an app with this id, asked as the ingress asks it: the status, 0 when it does not
 * answer. Through the ingress nobody can tell which of them are met, however many requests are sent at once.
 */
export async function judgements(platform: Platform, app: string, key: string): Promise<number[]> {
  const headers = { 'X-API-Key': key, 'X-Forwarded-For': '127.0.0.1', 'X-Forwarded-Method': 'GET' };
  const judge = async ({ ip, port }: CheckerPod) => {
    const address = `http://${ip}:${port}`;
    const answer = await requestThroughIngress(address, `${address}/authorize?app=${app}`, { headers }).catch(() => ({
      status: 0,
    }));
    return answer.status;
  };
  return Promise.all((await podsOf(platform)).filter(stays).map(podOf).map(judge));
}

/** Resolves when every checker lets the key through to the app with this id. */
export async function allKnow(platform: Platform, app: string, key: string): Promise<void> {
  await eventually(
    () => judgements(platform, app, key),
    (statuses) => statuses.length > 0 && statuses.every((status) => status === 200),
  );
}

async function podsOf(platform: Platform): Promise<Pod[]> {
  const found = await eventually(
    () => platform.kubectl('-n', namespace, 'get', 'pods', '-l', 'app=svc-authz', '-o', 'json'),
    ({ code }) => code === 0,
  );
  return (JSON.parse(found.stdout) as { items: Pod[] }).items;
}

function stays({ metadata }: Pod): boolean {
  return metadata.deletionTimestamp === undefined;
}

function podOf({ metadata, spec, status: { podIP = '', containerStatuses = [] } }: Pod): CheckerPod {
  const ports = spec.containers.flatMap((container) => container.ports);
  return {
    name: metadata.name,
    ip: podIP,
    port: ports.find(({ name }) => name === 'http')?.containerPort ?? 0,
    ready: containerStatuses.length > 0 && containerStatuses.every(({ ready }) => ready),
    restarts: containerStatuses.reduce((sum, { restartCount }) => sum + restartCount, 0),
  };
}

/** The checkers of the platform: two of them, with a switch before their store, until the test ends. */
export async function checkersOf(t: Teardown, platform: Platform): Promise<Checkers> {
  const all = () => podsOf(platform);
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
