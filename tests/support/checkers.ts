import { requestThroughIngress } from '../../infra/demo/ingress.ts';
import { eventually, type Platform } from './platform.ts';
import { scaled } from './replicas.ts';
import type { Teardown } from './target/target-types.ts';
import { targetOf } from './target/target.ts';

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

/** The gate's checkers in a test of faults. Each of them is restored when the test ends. */
export interface Checkers {
  /** Those that are not being deleted. */
  pods(): Promise<CheckerPod[]>;
  /** Resolves when `count` are ready and no others exist, such as terminating ones that still answer. */
  ready(count: number): Promise<CheckerPod[]>;
  /** Drops their traffic to the store silently, as a failed network does. */
  cutOffStore(): Promise<void>;
  reconnectStore(): Promise<void>;
}

const namespace = 'svc-system';
export const checkerReplicas = 2;

/**
 * Each checker's verdict on a key for the app with this id, asked as the ingress asks: the status, or 0 without an
 * answer. It asks the checkers directly, because the ingress does not reveal which checker answers.
 */
export async function judgements(platform: Platform, app: string, key: string): Promise<number[]> {
  const headers = { 'X-API-Key': key, 'X-Forwarded-For': '127.0.0.1', 'X-Forwarded-Method': 'GET' };
  const check = async ({ ip, port }: CheckerPod) => {
    const address = `http://${ip}:${port}`;
    const answer = await requestThroughIngress(address, `${address}/authorize?app=${app}`, { headers }).catch(() => ({
      status: 0,
    }));
    return answer.status;
  };
  return Promise.all((await podsOf(platform)).filter(stays).map(podOf).map(check));
}

/** Resolves when every checker lets the key through to the app with this id. */
export async function allKnow(platform: Platform, app: string, key: string): Promise<void> {
  await eventually(
    () => judgements(platform, app, key),
    (statuses) => statuses.length > 0 && statuses.every((status) => status === 200),
  );
}

async function podsOf(platform: Platform): Promise<Pod[]> {
  const pods = await eventually(
    () => platform.kubectl('-n', namespace, 'get', 'pods', '-l', 'app=svc-authz', '-o', 'json'),
    ({ code }) => code === 0,
  );
  return (JSON.parse(pods.stdout) as { items: Pod[] }).items;
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

/** The platform's checkers: two of them, with a switch between them and their store, until the test ends. */
export async function checkersOf(t: Teardown, platform: Platform): Promise<Checkers> {
  const all = () => podsOf(platform);
  const pods = async () => (await all()).filter(stays).map(podOf);
  const ready = async (count: number) => {
    const pods = await eventually(
      all,
      (items) => items.length === count && items.every((pod) => stays(pod) && podOf(pod).ready),
    );
    return pods.map(podOf);
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
