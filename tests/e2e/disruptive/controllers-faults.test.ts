import { setTimeout as wait } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { withoutComponents } from '../../../infra/testcluster/faults.ts';
import { createKubeClient } from '../../../runtime/kube/client.ts';
import { loadKubeConfig } from '../../../runtime/kube/kubeconfig.ts';
import { startChurn, type Churn } from '../../support/churn.ts';
import { eventually, runningPlatform, testProject, uniqueName } from '../../support/platform.ts';
import { targetOf } from '../../support/target/target.ts';

/**
 * The cluster's API server, its store and the leading controllers are killed while apps and functions are created,
 * changed and deleted: everything settles by itself, nothing twice, nothing lost, and what serves goes on serving.
 */
const platform = await runningPlatform();
const kube = createKubeClient(loadKubeConfig(platform.info.kubeconfig));
t.teardown(() => kube.close());
const hello = (version: string) => `localhost:5000/svc/hello:${version}`;
/** So many operations are under load before a fault, and after it. */
const some = 15;

const { project, flags } = await testProject(t, platform);
await platform.ok(['app', 'create', 'steady', '--image', hello('v1'), ...flags]);
await platform.ok(['app', 'create', 'rolled', '--image', hello('v1'), '--replicas', '2', ...flags]);
const warm = uniqueName('warm');
const dir = t.testdir({ 'warm.js': `export const handler = () => ({ statusCode: 200, body: 'warm' });` });
await platform.ok([
  ...['function', 'create', warm, '--runtime', 'node', '--code-file', `${dir}/warm.js`],
  ...['--idle-timeout', '30m', ...flags],
]);
const urlOf = async (kind: string, name: string) =>
  (await platform.json<{ url: string }>([kind, 'show', name, ...flags])).url;
const urls = [await urlOf('app', 'steady'), await urlOf('app', 'rolled'), await urlOf('function', warm)];
for (const url of urls) {
  await eventually(
    () => platform.request(url),
    ({ status }) => status === 200,
  );
}

const health = () => platform.request(`${platform.info.api}/health/controllers`);
const healthy = () => eventually(health, ({ status }) => status === 200);

interface Entry {
  revision: number;
  status: string;
}
async function history(app: string): Promise<Entry[]> {
  // As long as the API server has not read everything, the platform says that it cannot reach a part of itself.
  const ended = await eventually(
    () => platform.svc(['app', 'history', app, ...flags, '-o', 'json']),
    ({ code }) => code === 0,
  );
  return JSON.parse(ended.stdout) as Entry[];
}

/** Asks what serves, over and over; the answer ends that and tells which requests were not served. */
function watchServing(): () => Promise<string[]> {
  const stopping = new AbortController();
  const faults: string[] = [];
  const loop = async (url: string) => {
    while (!stopping.signal.aborted) {
      const { status, body } = await platform
        .request(url)
        .catch((error: Error) => ({ status: 0, body: error.message }));
      if (status !== 200) faults.push(`${new Date().toISOString()} ${url}: ${status} ${body}`);
      await wait(50);
    }
  };
  const loops = urls.map(loop);
  return async () => {
    stopping.abort();
    await Promise.all(loops);
    return faults;
  };
}

/** Ends the load, and holds that all of it came out as it was asked for, once. */
async function settled(t: Test, churn: Churn): Promise<void> {
  await churn.stop();
  t.same(
    await eventually(
      () => churn.faults(),
      (faults) => faults.length === 0,
    ),
    [],
  );
  const apps = churn.apps();
  t.ok(apps.length > 0);
  for (const app of new Set([...apps.slice(0, 1), ...apps.slice(-1)])) {
    const entries = await eventually(
      () => history(app),
      (found) => found.every(({ status }) => status === 'succeeded'),
    );
    t.match(entries, [{ revision: 1, status: 'succeeded' }], `${app} was deployed`);
    t.equal(entries.length, 1, 'once');
  }
}

t.test('the API server and its store are killed until the report says so', async (t) => {
  await healthy();
  const serving = watchServing();
  t.teardown(serving);
  const churn = await startChurn(kube, { project, prefix: uniqueName('long') });
  t.teardown(() => churn.stop());
  await churn.advance(some);
  await platform.ok(['app', 'update', 'rolled', '--image', hello('v2'), '--no-wait', ...flags]);
  await withoutComponents(['etcd', 'kube-apiserver'], async () => {
    const down = await eventually(health, (answer) => answer.status === 503 && !answer.json()['managerStarted']);
    t.match(down.json(), { healthy: false, managerStarted: false });
  });
  t.match((await healthy()).json(), { healthy: true, managerStarted: true, cacheSynced: true });
  await churn.advance(some);
  await settled(t, churn);
  const entries = await eventually(
    () => history('rolled'),
    (found) => found[0]?.status === 'succeeded',
  );
  t.equal(entries.length, 2, 'deployed twice: at its creation, and now');
  t.same(await serving(), [], 'what serves goes on');
});

t.test('the API server is killed again and again', async (t) => {
  await healthy();
  const serving = watchServing();
  t.teardown(serving);
  const churn = await startChurn(kube, { project, prefix: uniqueName('often') });
  t.teardown(() => churn.stop());
  for (let time = 0; time < 3; time++) {
    await churn.advance(some);
    await withoutComponents(['kube-apiserver'], () => Promise.resolve());
  }
  await churn.advance(some);
  await settled(t, churn);
  await healthy();
  t.same(await serving(), [], 'what serves goes on');
});

t.test('the leading controllers are killed', async (t) => {
  await healthy();
  const serving = watchServing();
  t.teardown(serving);
  const churn = await startChurn(kube, { project, prefix: uniqueName('leader') });
  t.teardown(() => churn.stop());
  await churn.advance(some);
  const before = await processLife();
  await targetOf(platform).signal('deploy/svc-controllers', 'KILL');
  await eventually(processLife, (life) => life !== before);
  await churn.advance(some);
  await settled(t, churn);
  await healthy();
  t.same(await serving(), [], 'what serves goes on');
});

/** Another one after every start of svc-controllers, be it in the same pod or in a new one. */
async function processLife(): Promise<string> {
  const found = await eventually(
    () => platform.kubectl('-n', 'svc-system', 'get', 'pods', '-l', 'app=svc-controllers', '-o', 'json'),
    ({ code }) => code === 0,
  );
  const { items } = JSON.parse(found.stdout) as {
    items: { metadata: { name: string }; status: { containerStatuses?: { restartCount: number }[] } }[];
  };
  const lives = items.map(({ metadata: { name }, status: { containerStatuses = [] } }) =>
    [name, ...containerStatuses.map(({ restartCount }) => restartCount)].join(' '),
  );
  return lives.sort().join(', ');
}
