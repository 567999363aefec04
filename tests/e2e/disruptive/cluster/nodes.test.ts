import t from 'tap';
import { up } from '../../../../infra/testcluster/cluster.ts';
import { cutNodeOff, killNode, noticeLostNodesSoon, reconnectNode } from '../../../../infra/testcluster/faults.ts';
import { node, secondNode } from '../../../../infra/testcluster/settings.ts';
import { codeFile } from '../../../support/code-file.ts';
import { failedCalls, startNodeLoad, summaries } from '../../../support/node-load.ts';
import { eventually, runningPlatform, testProject, uniqueName } from '../../../support/platform.ts';

/**
 * A second node is drained, cut off and killed. Everything that runs on it comes back on the first, except what is bound to
 * it by a volume, and that says so.
 */
const platform = await runningPlatform();
const image = 'localhost:5000/svc/hello:v1';
const system = 'svc-system';
const first = node.name;
const second = secondNode.name;

interface Pod {
  metadata: { name: string; uid: string; labels: Record<string, string>; deletionTimestamp?: string };
  spec: { nodeName?: string };
  status: { conditions?: { type: string; status: string }[] };
}

interface App {
  url: string;
  status: string;
  message?: string;
  readyReplicas: number;
}

const kubectl = async (...parameters: string[]): Promise<string> => {
  const { code, stdout, stderr } = await platform.kubectl(...parameters);
  if (code !== 0) throw new Error(stderr);
  return stdout;
};
const isReady = ({ status }: Pod) => status.conditions?.some((each) => each.type === 'Ready' && each.status === 'True');
const podsOf = async (namespace: string, app: string) => {
  const { items } = JSON.parse(await kubectl('-n', namespace, 'get', 'pods', '-l', app, '-o', 'json')) as {
    items: Pod[];
  };
  return items;
};
const live = (pods: readonly Pod[]) => pods.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
const count = (all: readonly unknown[], one: unknown) => all.filter((each) => each === one).length;
/** Resolves when exactly these nodes have ready pods of an app. Those that are being deleted do not count. */
const runOn = (namespace: string, app: string, nodes: readonly string[]) =>
  eventually(
    () => podsOf(namespace, app),
    (pods) => {
      const names = live(pods).map(({ spec }) => spec.nodeName);
      return live(pods).every(isReady) && [first, second].every((name) => count(names, name) === count(nodes, name));
    },
  );

const { flags, namespace } = await testProject(t, platform);
const began = performance.now();
const step = (text: string) => t.comment(`${((performance.now() - began) / 1000).toFixed(1)} s: ${text}`);
// Before the project is deleted: the pods of a lost node end only with the node.
t.teardown(() => up({ nodes: 1 }));

const show = (name: string) => platform.json<App>(['app', 'show', name, ...flags]);
const createApp = (name: string, ...more: string[]) =>
  platform.ok(['app', 'create', name, '--image', image, ...more, ...flags]);
const source = codeFile(t, 'hello.js', `export const handler = () => ({ statusCode: 200, body: 'hello' });`);
const createFunction = async (name: string, pods: number) => {
  const code = ['--runtime', 'node', '--code-file', source, '--min-replicas', String(pods)];
  await platform.ok(['function', 'create', name, ...code, ...flags]);
  return (await platform.json<{ url: string }>(['function', 'show', name, ...flags])).url;
};
const createKey = async () => {
  await platform.ok(['plan', 'create', 'wide', '--rate', '10000', '--burst', '10000', ...flags]);
  return platform.ok(['key', 'create', '--plan', 'wide', ...flags]);
};

const gate = createApp('api').then(async () => {
  await platform.ok(['app', 'gate', 'enable', 'api', ...flags]);
  return createKey();
});
await Promise.all([up({ nodes: 2 }), gate]);
step('two nodes');
t.teardown(await noticeLostNodesSoon());
const key = await gate;

/** The processes of the platform that have one replica. */
const leaders = ['svc-controllers', 'svc-workers'];
const single = uniqueName('single');
const pair = uniqueName('pair');

/** What runs while the first node accepts no pods runs on the second. */
async function onSecondNode<T>(work: () => Promise<T>): Promise<T> {
  await kubectl('cordon', first);
  try {
    return await work();
  } finally {
    await kubectl('uncordon', first);
  }
}

/**
 * Deletes pods on the first node while it accepts none, so that they come back on the second.
 * @param placesOfApi the nodes of the two pods of the app with several
 */
async function moveToSecondNode(
  withLeaders: boolean,
  placesOfApi: readonly [string, string] = [first, second],
): Promise<void> {
  await onSecondNode(async () => {
    const move = async (where: string, app: string, places: readonly string[]) => {
      const all = !places.includes(first);
      const pods = await podsOf(where, `app=${app}`);
      const away = pods.some(({ spec }) => spec.nodeName === second);
      const moving = pods.filter(({ spec }) => spec.nodeName === first).slice(0, all ? undefined : away ? 0 : 1);
      const names = moving.map(({ metadata }) => metadata.name);
      if (names.length > 0) await kubectl('-n', where, 'delete', 'pod', '--wait=false', ...names);
      await runOn(where, `app=${app}`, places);
    };
    await Promise.all([
      ...['svc-authz', 'svc-interceptor', 'console-api'].map((app) => move(system, app, [first, second])),
      ...(withLeaders ? leaders.map((app) => move(system, app, [second])) : []),
      move(namespace, 'api', placesOfApi),
      move(namespace, 'solo', [second]),
      move(namespace, single, [second]),
    ]);
  });
}

const urls = { api: '', solo: '', single: '' };

t.test('replicas of apps, functions and checkers are on both nodes', async () => {
  await platform.ok(['volume', 'create', 'data', '--size', '64Mi', ...flags]);
  // Its new pods pull the platform's image on the second node meanwhile.
  await kubectl('-n', system, 'rollout', 'restart', 'deployment/svc-authz');
  await eventually(
    () => podsOf(system, 'app=svc-authz'),
    (pods) => pods.some(({ spec }) => spec.nodeName === second),
  );
  await onSecondNode(async () => {
    [, , urls.single] = await Promise.all([
      createApp('solo'),
      createApp('stored', '--volume', 'data:/data'),
      createFunction(single, 1),
    ]);
  });
  step('single pods are on the second node');
  await Promise.all([platform.ok(['app', 'update', 'api', '--replicas', '2', ...flags]), createFunction(pair, 2)]);
  await runOn(namespace, 'app=api', [first, second]);
  await runOn(namespace, `app=${pair}`, [first, second]);
  await runOn(system, 'app=svc-authz', [first, second]);
  await runOn(namespace, 'app=solo', [second]);
  await runOn(namespace, 'app=stored', [second]);
  urls.api = (await show('api')).url;
  urls.solo = (await show('solo')).url;
  step('replicas are on both nodes');
});

const load = () =>
  startNodeLoad(platform, {
    denied: { url: urls.api, status: 401 },
    served: { url: urls.api, headers: { 'X-API-Key': key } },
    function: { url: urls.single },
    solo: { url: urls.solo },
    console: { url: platform.info.api },
  });
t.test('a drain of a node with both replicas of an app: no request to it fails, and no verdict', async (t) => {
  await moveToSecondNode(false, [second, second]);
  step('moved');
  const requests = load();
  const from = performance.now();
  await kubectl('drain', second, '--ignore-daemonsets', '--delete-emptydir-data', '--timeout=60s');
  step('drained');
  await Promise.all([
    runOn(namespace, 'app=api', [first, first]),
    runOn(namespace, 'app=solo', [first]),
    runOn(system, 'app=svc-authz', [first, first]),
  ]);
  const calls = await requests.stop();
  for (const line of summaries(calls, from)) t.comment(line);
  t.same([...failedCalls(calls, 'denied'), ...failedCalls(calls, 'served')].slice(0, 3), []);
  const { message } = await eventually(
    () => show('stored'),
    ({ status }) => status === 'failed',
  );
  t.match(message, new RegExp(`storage of a volume is on the node ${second}`));
  await kubectl('uncordon', second);
  await runOn(namespace, 'app=stored', [second]);
  step('uncordoned');
});

for (const [name, fault] of [
  ['cut off', cutNodeOff],
  ['killed', killNode],
] as const) {
  t.test(`a node is ${name}: what ran on it runs on the other, and the gate answers`, async (t) => {
    // The end of the former leader's lease takes a quarter of a minute, so only one of the faults includes it.
    await moveToSecondNode(name === 'cut off');
    step('moved');
    const requests = load();
    await eventually(
      () => Promise.resolve(requests.calls),
      (calls) => calls.length > 100,
    );
    const from = performance.now();
    await fault();
    const onFirst = async (where: string, app: string, count: number) => {
      await eventually(
        () => podsOf(where, app),
        (pods) => live(pods).filter((pod) => isReady(pod) && pod.spec.nodeName === first).length === count,
      );
      step(`${app} runs on the first node`);
    };
    await Promise.all([
      onFirst(namespace, 'app=solo', 1),
      onFirst(namespace, `app=${single}`, 1),
      onFirst(namespace, 'app=api', 2),
      onFirst(system, 'app=svc-authz', 2),
      onFirst(system, 'app=svc-controllers', 1),
    ]);
    const { message } = await eventually(
      () => show('stored'),
      ({ status }) => status === 'failed',
    );
    step('stored says so');
    t.match(message, new RegExp(`storage of a volume is on the node ${second}`));
    const calls = await requests.stop();
    for (const line of summaries(calls, from)) t.comment(line);
    t.same(failedCalls(calls, 'denied').slice(0, 3), [], 'every verdict was given');
    // A request that the ingress has sent over a connection to a lost pod has no answer.
    t.ok(failedCalls(calls, 'served').length <= 4, 'an app with another pod loses what was in flight');
    if (name === 'killed') return;
    await reconnectNode();
    await runOn(namespace, 'app=stored', [second]);
    step(`stored is back, beside ${(await podsOf(namespace, 'app=stored')).length - 1} pods that end`);
    await runOn(namespace, 'app=solo', [first]);
    await eventually(
      () => kubectl('get', 'pods', '--all-namespaces', '--field-selector', `spec.nodeName=${second}`, '-o', 'json'),
      (pods) =>
        (JSON.parse(pods) as { items: Pod[] }).items.every(({ metadata }) => metadata.deletionTimestamp === undefined),
    );
    await runOn(system, 'app=svc-controllers', [first]);
    step('the node is clean');
  });
}
