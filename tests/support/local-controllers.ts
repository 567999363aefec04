import { Registry } from 'prom-client';
import type { Test } from 'tap';
import { createControllerManager } from '../../infra/local/controllers/controller-manager.ts';
import type { PodTemplate } from '../../infra/local/controllers/objects.ts';
import type { KubeObject, ObjectRef, Stored } from '../../runtime/contracts/kubernetes.ts';
import type { Pod } from '../../runtime/contracts/pod.ts';
import { kinds, type ResourceKind } from '../../runtime/contracts/resources/kinds.ts';
import { refOf } from '../../runtime/kube/children.ts';
import { acceleratedClock } from './clock.ts';
import { fakeKube, type FakeKube } from './fake-kube.ts';
import { silentLog } from './log.ts';

/** The kinds that these tests use. */
const collected = [
  kinds.Deployment,
  kinds.ReplicaSet,
  kinds.StatefulSet,
  kinds.BatchJob,
  kinds.CronJob,
  kinds.Pod,
  kinds.Service,
  kinds.EndpointSlice,
  kinds.ConfigMap,
];

/** The status that a node sets for a new pod; undefined leaves it pending. */
type Fate = 'ready' | 'running' | 'Succeeded' | 'Failed' | undefined;

/** The controllers over objects in memory, with pods whose state a test decides. */
export interface ControllersUnderTest {
  kube: FakeKube;
  /** The result of every later pod; default `ready`. */
  fate: (pod: Stored<Pod>) => Fate;
  create: <T extends KubeObject>(object: T) => Promise<Stored<T>>;
  /** All objects of a kind. */
  all: <T extends KubeObject = KubeObject>(kind: ResourceKind) => Stored<T>[];
  /** Resolves to the result of `look`, which is called again at every change. */
  until: <T>(what: string, check: () => T | undefined | false) => Promise<T>;
  set: (pod: Stored<Pod>, fate: Fate) => Promise<void>;
}

const ref = (object: KubeObject): ObjectRef => refOf(object);

export async function startControllers(t: Test): Promise<ControllersUnderTest> {
  const kube = fakeKube({ collectGarbage: false });
  const manager = createControllerManager({
    kube,
    clock: acceleratedClock(10),
    log: silentLog,
    registry: new Registry(),
    collected,
    jobRetry: { baseMs: 1, maxMs: 5 },
  });
  await manager.start();
  const stopping = new AbortController();
  const checks = new Set<() => void>();
  const tests: ControllersUnderTest = {
    kube,
    fate: () => 'ready',
    create: (object) => kube.create(object),
    all: (kind) => kube.all(kind),
    async until(what, check) {
      const { promise, resolve, reject } =
        Promise.withResolvers<Exclude<ReturnType<typeof check>, undefined | false>>();
      const timer = setTimeout(() => reject(new Error(`it never came to that: ${what}`)), 20_000);
      const recheck = () => {
        const result = check();
        if (result !== undefined && result !== false)
          resolve(result as Exclude<ReturnType<typeof check>, undefined | false>);
      };
      checks.add(recheck);
      recheck();
      try {
        return await promise;
      } finally {
        clearTimeout(timer);
        checks.delete(recheck);
      }
    },
    async set(pod, fate) {
      if (fate === undefined) return;
      const ended = fate === 'Succeeded' || fate === 'Failed';
      const at = new Date().toISOString();
      const state = ended ? { terminated: { exitCode: fate === 'Failed' ? 1 : 0, finishedAt: at } } : { running: {} };
      const status = {
        phase: ended ? fate : 'Running',
        podIP: '127.0.0.1',
        conditions: [{ type: 'Ready', status: fate === 'ready' ? 'True' : 'False' }],
        containerStatuses: [{ name: 'main', ready: fate === 'ready', restartCount: 0, state }],
      };
      await kube.mergePatch(ref(pod), { status }, 'status').catch(() => undefined);
    },
  };
  const follow = async (kind: ResourceKind) => {
    for await (const { type, object } of kube.watch(kind, { resourceVersion: '1' }, stopping.signal)) {
      if (kind === kinds.Pod && type === 'ADDED') {
        const pod = object as Stored<Pod>;
        await tests.set(pod, tests.fate(pod));
      }
      for (const check of checks) check();
    }
  };
  const following = collected.map(follow);
  t.teardown(async () => {
    stopping.abort();
    await Promise.all(following);
    await manager.stop();
  });
  return tests;
}

/** A template whose pods carry these labels; different `version`s make different templates. */
export function template(labels: Record<string, string>, version = '1', spec: object = {}): PodTemplate {
  return { metadata: { labels }, spec: { containers: [{ name: 'main', image: `app:${version}` }], ...spec } };
}
