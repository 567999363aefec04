import t from 'tap';
import { generateApiKey } from '../../../runtime/domain/api-key.ts';
import { newId } from '../../../runtime/domain/ids.ts';
import { deleteKey, findKey, insertKey, updateKey } from '../../../runtime/records/keys.ts';
import { deletePlan, insertPlan } from '../../../runtime/records/plans.ts';
import { testDatabase } from '../../support/postgres.ts';

t.test('a handle that exists anywhere in the installation is not issued twice', async (t) => {
  const { pool } = await testDatabase(t);
  const plans = await Promise.all(
    [newId(), newId()].map((environmentId) =>
      insertPlan(pool, { environmentId, name: 'small', requestsPerSecond: 1, burst: 1 }),
    ),
  );
  const existingKey = generateApiKey();
  const generatedKeys = [existingKey, existingKey, generateApiKey()];
  const generate = () => generatedKeys.shift() ?? existingKey;
  const created = [];
  for (const { environmentId, id: planId } of plans) {
    const record = { environmentId, planId, name: null, scope: null, expiresAt: null, createdBy: 'a' };
    created.push((await insertKey(pool, record, generate)).record.handle);
  }
  t.equal(created[0], existingKey.handle);
  t.not(created[1], existingKey.handle);
  t.same(generatedKeys, []);

  const [plan] = plans;
  if (!plan) throw new Error('a plan');
  const { environmentId, id: planId } = plan;
  const record = { environmentId, planId, name: null, scope: null, expiresAt: null, createdBy: 'a' };
  await t.rejects(insertKey(pool, record, generate), /no free handle/, 'retries are limited');
});

t.test('concurrent creation of a key and deletion of its plan end in one of the two orders', async (t) => {
  const { pool } = await testDatabase(t);
  const environmentId = newId();
  for (let round = 0; round < 10; round++) {
    const plan = await insertPlan(pool, { environmentId, name: `p${round}`, requestsPerSecond: 1, burst: 1 });
    const record = { environmentId, planId: plan.id, name: null, scope: null, expiresAt: null, createdBy: 'a' };
    const [key, deleted] = await Promise.allSettled([insertKey(pool, record), deletePlan(pool, plan.id)]);
    t.not(key.status, deleted.status, 'exactly one of them succeeds');
    if (key.status === 'rejected') t.match(key.reason, { code: 'invalid_value' });
    if (deleted.status === 'rejected') t.match(deleted.reason, { code: 'in_use' });
  }
});

t.test('changing or deleting a missing key reports that', async (t) => {
  const { pool } = await testDatabase(t);
  const environmentId = newId();
  const plan = await insertPlan(pool, { environmentId, name: 'p', requestsPerSecond: 1, burst: 1 });
  const { record } = await insertKey(pool, {
    environmentId,
    planId: plan.id,
    name: null,
    scope: null,
    expiresAt: null,
    createdBy: 'a',
  });
  t.equal(await updateKey(pool, record.id, { enabled: true }), false, 'it is enabled already');
  t.equal(await updateKey(pool, record.id, { enabled: false }), true);
  t.match(await findKey(pool, [environmentId], record.handle), { id: record.id, enabled: false });
  t.equal(await findKey(pool, [], record.handle), undefined);
  t.equal(await deleteKey(pool, record.id), true);
  t.equal(await deleteKey(pool, record.id), false);
  t.equal(await updateKey(pool, record.id, { enabled: true }), false);
});
