import t from 'tap';
import { gatedApp } from '../../support/gated-app.ts';
import { eventually, runningPlatform } from '../../support/platform.ts';

/** Every part of the platform uses the store, so no other test runs meanwhile. */
const platform = await runningPlatform();
const { newKey, isShown, serving, load, served, written } = await gatedApp(t, platform);

t.test('the store restarts under load: nothing is denied, and no usage is lost', async (t) => {
  const counted = await newKey();
  await serving(counted);
  const requests = load([counted], { pauseMs: 20, width: 4 });
  t.teardown(() => requests.stop());
  const old = await store();
  await eventually(
    () => platform.kubectl('-n', 'svc-system', 'delete', 'pod', 'svc-postgres-0', '--wait=false'),
    ({ code }) => code === 0,
  );
  await eventually(store, ({ uid, ready }) => uid !== old.uid && ready);
  await eventually(
    () => isShown(counted),
    (shown) => shown,
  );
  await requests.stop();
  t.same(
    requests.answers.filter(({ status }) => status !== 200),
    [],
    'every request with a valid key was served',
  );
  t.equal(await written(counted), served(counted), 'the sum of the counted requests');
});

async function store(): Promise<{ uid: string | undefined; ready: boolean }> {
  const pod = await platform.kubectl('-n', 'svc-system', 'get', 'pod', 'svc-postgres-0', '-o', 'json');
  if (pod.code !== 0) return { uid: undefined, ready: false };
  const { metadata, status } = JSON.parse(pod.stdout) as {
    metadata: { uid: string };
    status: { containerStatuses?: { ready: boolean }[] };
  };
  return { uid: metadata.uid, ready: status.containerStatuses?.every(({ ready }) => ready) ?? false };
}
