import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Test } from 'tap';
import { createImageStore, type ImageConfiguration, type ImageStore } from '../../infra/local/node/images.ts';
import { createLocalNode, type LocalNode, type LocalNodeOptions } from '../../infra/local/node/node.ts';
import type { NodePod } from '../../infra/local/node/pod-spec.ts';
import type { Stored } from '../../runtime/contracts/kubernetes.ts';
import { kinds } from '../../runtime/contracts/resources/kinds.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import { acceleratedClock } from './clock.ts';
import { fakeKube, type FakeKube } from './fake-kube.ts';
import { silentLog } from './log.ts';
import { ownFolder } from './own-folder.ts';

/** A node with its own folder, stopped at the end of the test. */
export interface NodeUnderTest {
  node: LocalNode;
  kube: FakeKube;
  images: ImageStore;
  folder: string;
  /** Creates an image of one file, `main.mjs`, that Node runs. */
  image: (reference: string, source: string, configuration?: ImageConfiguration) => Promise<void>;
  /** Creates a pod in `default`. */
  pod: (name: string, spec: Partial<NodePod['spec']> & Pick<NodePod['spec'], 'containers'>) => Promise<Stored<NodePod>>;
  /** Resolves to the pod once it matches. */
  until: (name: string, holds: (pod: Stored<NodePod>) => boolean) => Promise<Stored<NodePod>>;
  /** Resolves once the pod is gone. */
  untilGone: (name: string) => Promise<void>;
  /** A container's log as one text. */
  log: (pod: Stored<NodePod>, container: string, options?: { previous?: boolean }) => Promise<string>;
}

/** How much faster than the machine's clock the node's time passes. */
export const timeFactor = 5;

/** Separate port ranges for test files that run at the same time. */
function portRange(): { first: number; last: number } {
  const first = 20_000 + (process.pid % 90) * 100;
  return { first, last: first + 99 };
}

/** Starts a node; with `again`, on the folder and objects of an earlier one. */
export async function startNode(
  t: Test,
  options: Partial<LocalNodeOptions> = {},
  again?: Pick<NodeUnderTest, 'kube' | 'folder'>,
): Promise<NodeUnderTest> {
  const folder = again?.folder ?? ownFolder(t);
  const kube = again?.kube ?? fakeKube({ gracefulPods: true });
  const images = createImageStore(join(folder, 'images'));
  const node = createLocalNode({
    kube,
    clock: acceleratedClock(timeFactor),
    log: silentLog,
    images,
    folder: join(folder, 'node'),
    issueToken: async ({ serviceAccount, audience = 'api' }) => `token of ${serviceAccount} for ${audience}`,
    apiServer: { url: 'https://127.0.0.1:1', ca: 'a certificate' },
    path: process.env['PATH'] ?? '',
    portRange: portRange(),
    backOff: { baseMs: 50 * timeFactor, maxMs: 200 * timeFactor },
    stopSeconds: timeFactor,
    ...options,
  });
  await node.start();
  t.teardown(() => node.stop());
  return {
    node,
    kube,
    images,
    folder,
    async image(reference, source, configuration = {}) {
      const context = join(folder, 'contexts', encodeURIComponent(reference));
      mkdirSync(context, { recursive: true });
      writeFileSync(join(context, 'main.mjs'), source);
      await images.add(context, reference, { entrypoint: ['tini', '--', 'node', 'main.mjs'], ...configuration });
    },
    pod: (name, spec) =>
      kube.create<NodePod>({
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: { name, namespace: 'default', labels: { app: name } },
        spec: { terminationGracePeriodSeconds: 2 * timeFactor, ...spec },
      }),
    until: (name, holds) => podWhere(t, kube, name, holds),
    async untilGone(name) {
      await changesOf(t, kube, () => {
        const pod = kube.all(kinds.Pod).find(({ metadata }) => metadata.name === name);
        return pod === undefined ? true : undefined;
      });
    },
    async log(pod, container, { previous = false } = {}) {
      const { uid } = pod.metadata;
      const signal = AbortSignal.timeout(5_000);
      let text = '';
      for await (const line of node.logs({ uid, container }, { previous }, signal)) text += line;
      return text;
    },
  };
}

/** Resolves to the result of `look`, which is called again at every change of a pod. */
async function changesOf<T>(t: Test, kube: Pick<KubeClient, 'list' | 'watch'>, look: () => T | undefined): Promise<T> {
  const stop = new AbortController();
  const timer = setTimeout(() => stop.abort(), 20_000);
  t.teardown(() => {
    clearTimeout(timer);
    stop.abort();
  });
  const { resourceVersion } = await kube.list(kinds.Pod);
  const first = look();
  if (first !== undefined) return first;
  for await (const _event of kube.watch(kinds.Pod, { resourceVersion }, stop.signal)) {
    const result = look();
    if (result === undefined) continue;
    clearTimeout(timer);
    stop.abort();
    return result;
  }
  throw new Error('it did not come to that in 20 s');
}

async function podWhere(
  t: Test,
  kube: FakeKube,
  name: string,
  holds: (pod: Stored<NodePod>) => boolean,
): Promise<Stored<NodePod>> {
  const find = () => kube.all<NodePod>(kinds.Pod).find(({ metadata }) => metadata.name === name);
  try {
    return await changesOf(t, kube, () => {
      const pod = find();
      return pod && holds(pod) ? pod : undefined;
    });
  } catch (error) {
    throw new Error(`${name}: ${JSON.stringify(find()?.status, undefined, 1)}`, { cause: error });
  }
}
