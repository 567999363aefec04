import t from 'tap';
import { withoutComponents } from '../../../../infra/testcluster/faults.ts';
import { eventually, runningPlatform } from '../../../support/platform.ts';
import { someOperations, workUnderFaults } from '../../../support/work-under-faults.ts';

/**
 * The cluster's API server and its store are killed while apps and functions are created, changed and deleted: every
 * object settles by itself, none twice and none lost, and running apps keep serving.
 */
const platform = await runningPlatform();
const work = await workUnderFaults(t, platform);

t.test('the API server and its store are killed until the report says so', async (t) => {
  await work.healthy();
  const serving = work.watchServing({ rolling: true });
  t.teardown(serving);
  const churn = await work.churn(t, 'long');
  await churn.advance(someOperations);
  await work.deploy();
  await withoutComponents(['etcd', 'kube-apiserver'], async () => {
    const down = await eventually(work.health, (answer) => answer.status === 503 && !answer.json()['managerStarted']);
    t.match(down.json(), { healthy: false, managerStarted: false });
  });
  t.match((await work.healthy()).json(), { healthy: true, managerStarted: true, cacheSynced: true });
  await churn.advance(someOperations);
  await work.settled(t, churn);
  await work.deployed(t);
  t.same(await serving(), [], 'running apps keep serving');
  await work.serving();
});

t.test('the API server is killed again and again', async (t) => {
  await work.healthy();
  // Pods that a rollout replaces while the cluster's endpoints lag are not a fault of this test's kills.
  await work.rested();
  await work.serving();
  const serving = work.watchServing();
  t.teardown(serving);
  const churn = await work.churn(t, 'often');
  for (let time = 0; time < 3; time++) {
    await churn.advance(someOperations);
    await withoutComponents(['kube-apiserver'], () => Promise.resolve());
  }
  await churn.advance(someOperations);
  await work.settled(t, churn);
  await work.healthy();
  t.same(await serving(), [], 'running apps keep serving');
});
