import t from 'tap';
import { eventually, runningPlatform } from '../../support/platform.ts';
import { targetOf } from '../../support/target/target.ts';
import { someOperations, workUnderFaults } from '../../support/work-under-faults.ts';

/**
 * The leading controllers are killed while apps and functions are created, changed and deleted: every object settles by
 * itself, none twice and none lost, and running apps keep serving.
 */
const platform = await runningPlatform();
const work = await workUnderFaults(t, platform);

t.test('the leading controllers are killed', async (t) => {
  await work.healthy();
  const serving = work.watchServing();
  t.teardown(serving);
  const churn = await work.churn(t, 'leader');
  await churn.advance(someOperations);
  const before = await processLife();
  await targetOf(platform).signal('deploy/svc-controllers', 'KILL');
  await eventually(processLife, (life) => life !== before);
  await churn.advance(someOperations);
  await work.settled(t, churn);
  await work.healthy();
  t.same(await serving(), [], 'running apps keep serving');
});

/** Changes with every start of svc-controllers, in the same pod or in a new one. */
async function processLife(): Promise<string> {
  const leader = await eventually(
    () => platform.kubectl('-n', 'svc-system', 'get', 'pods', '-l', 'app=svc-controllers', '-o', 'json'),
    ({ code }) => code === 0,
  );
  const { items } = JSON.parse(leader.stdout) as {
    items: { metadata: { name: string }; status: { containerStatuses?: { restartCount: number }[] } }[];
  };
  const restartCounts = items.map(({ metadata: { name }, status: { containerStatuses = [] } }) =>
    [name, ...containerStatuses.map(({ restartCount }) => restartCount)].join(' '),
  );
  return restartCounts.sort().join(', ');
}
