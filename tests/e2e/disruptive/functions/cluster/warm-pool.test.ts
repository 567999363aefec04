import t from 'tap';
import { functionContainer } from '../../../../../infra/manifests/function-pod.ts';
import type { FunctionDeployment } from '../../../../../infra/manifests/function.ts';
import type { Stored } from '../../../../../runtime/contracts/kubernetes.ts';
import { isContainerRunning, isPodLive, isStandIn, type Pod } from '../../../../../runtime/contracts/pod.ts';
import { kinds } from '../../../../../runtime/contracts/resources/kinds.ts';
import { kindLabel, warmLabel } from '../../../../../runtime/domain/labels.ts';
import { createKubeClient } from '../../../../../runtime/kube/client.ts';
import { loadKubeConfig } from '../../../../../runtime/kube/kubeconfig.ts';
import { codeFile } from '../../../../support/code-file.ts';
import { eventually, runningPlatform, testProject } from '../../../../support/platform.ts';

/**
 * A pool of generic pods (decision 0098) with more demand than pods, after changes by hand and with other settings. The
 * size of pools is a setting of the installation.
 */
const platform = await runningPlatform();
const kube = createKubeClient(loadKubeConfig(platform.info.kubeconfig));
t.teardown(() => kube.close());
const setSize = (size: string) => platform.ok(['platform', 'config', 'set', '--warm-pods', size]);
t.teardown(() => setSize('default'));

/** Functions that are woken at once. */
const count = 20;
const { namespace, flags } = await testProject(t, platform);
const file = codeFile(
  t,
  'wave.js',
  `import { hostname } from 'node:os';
export const handler = () => ({ name: process.env.NAME, pod: hostname() });`,
);
const urls = new Map<string, string>();
const addFunction = async (name: string) => {
  await platform.ok(['function', 'create', name, '--runtime', 'node', '--code-file', file, ...flags]);
  await platform.ok(['function', 'env', 'set', name, `NAME=${name}`, ...flags]);
  urls.set(name, (await platform.json<{ url: string }>(['function', 'show', name, ...flags])).url);
  // The first start has to get the variable.
  await eventually(
    () => platform.kubectl('-n', namespace, 'get', 'deployment', name, '-o', 'json'),
    ({ stdout }) => stdout.includes(`function-${name}-env-`),
  );
};
const pods = async (labelSelector: string) => (await kube.list<Pod>(kinds.Pod, { namespace, labelSelector })).items;
const waiting = async () => {
  const generic = await pods(warmLabel);
  return generic.filter((pod) => isPodLive(pod) && isContainerRunning(pod, functionContainer));
};
/** Resolves when as many generic pods wait, none of which is one of these. */
const full = (size: number, former: readonly Stored<Pod>[] = []) =>
  eventually(waiting, (now) => {
    const isFormer = ({ metadata }: Stored<Pod>) => former.some((pod) => pod.metadata.uid === metadata.uid);
    return now.length === size && !now.some(isFormer);
  });
const pools = async () =>
  (await kube.list<FunctionDeployment>(kinds.Deployment, { namespace, labelSelector: warmLabel })).items;
const ask = async (name: string) => {
  const answer = await platform.request(urls.get(name) ?? '');
  return { status: answer.status, ...(answer.json() as { name?: string; pod?: string }) };
};
const isWarm = ({ pod = '' }) => pod.startsWith('svc-warm-');

t.test(`${count} functions that are woken at once are all answered, with a pool of two`, async (t) => {
  await setSize('2');
  const names = Array.from({ length: count }, (_, index) => `wave${index}`);
  await Promise.all(names.map(addFunction));
  const before = await full(2);
  const startedAt = performance.now();
  const took: number[] = [];
  const answers = await Promise.all(
    names.map(async (name) => {
      const answer = await ask(name);
      took.push(performance.now() - startedAt);
      return { ...answer, expected: name };
    }),
  );
  for (const { expected, status, name } of answers) t.match({ status, name }, { status: 200, name: expected });
  const warm = answers.filter(isWarm);
  t.comment(
    `${warm.length} in generic pods, after ${took
      .map(Math.round)
      .toSorted((a, b) => a - b)
      .join(', ')} ms`,
  );
  t.ok(warm.length >= 2, 'those of the pool have answered');
  t.equal(new Set(answers.map(({ pod }) => pod)).size, count, 'no two functions had the same pod');
  await eventually(
    () => pods(`${kindLabel}=Function`),
    (all) => !all.some((pod) => isStandIn(pod)),
  );
  await full(2, before);
});

t.test('a pool that is changed or deleted by hand is restored, and used again', async (t) => {
  const before = await full(2);
  const [pool] = await pools();
  const { name = '', generation = 0 } = pool?.metadata ?? {};
  await platform.kubectl('-n', namespace, 'scale', 'deployment', name, '--replicas', '4');
  // One change by hand, and one back.
  await eventually(pools, ([now]) => now?.metadata.generation === generation + 2 && now.spec.replicas === 2);
  await full(2);
  await platform.kubectl('-n', namespace, 'delete', 'deployment', name, '--wait=false');
  await full(2, before);

  const former = await full(2);
  await platform.kubectl('-n', namespace, 'delete', 'secret', 'svc-warm');
  await addFunction('cold');
  t.match(await ask('cold'), { status: 200, name: 'cold' }, 'it starts in its own pod');
  await full(2, former);
  await addFunction('again');
  const again = await ask('again');
  t.match(again, { status: 200, name: 'again' });
  t.ok(isWarm(again), 'in a generic pod with the new token');
});

t.test('pools follow their setting', async (t) => {
  await setSize('3');
  await full(3);
  await setSize('0');
  await eventually(pools, (now) => now.length === 0);
  await eventually(
    () => kube.get(kinds.Secret, 'svc-warm', namespace),
    (secret) => secret === undefined,
  );
  await eventually(
    () => pods(warmLabel),
    (now) => now.length === 0,
  );
  await addFunction('alone');
  const alone = await ask('alone');
  t.match(alone, { status: 200, name: 'alone' });
  t.notOk(isWarm(alone));
  await setSize('1');
  await full(1);
});
