import t from 'tap';
import { environmentUpdate } from '../../../runtime/contracts/api/projects.ts';
import { changedLimits, limitFlags, limitsOf } from '../../../functions/console/ui/projects/limits.ts';

const environment = { name: 'prod', namespace: 'svc-shop-prod', ready: true };
const before = limitsOf({
  ...environment,
  limits: { cpu: '4', memory: '16Gi', storage: '100Gi', pods: 50, containerMemory: '512Mi' },
});

t.test('only limits that differ are sent, and an empty one restores the default', (t) => {
  t.same(changedLimits(before, { ...before, cpu: ' 4 ' }), {});
  const limits = changedLimits(before, { ...before, memory: ' 32Gi', storage: '', pods: '70', containerMemory: '1Gi' });
  t.same(limits, { memory: '32Gi', storage: null, pods: 70, containerMemory: '1Gi' });
  const none = limitsOf(environment);
  t.same(changedLimits(none, none), {}, 'limits that the API does not know yet');
  const reset = changedLimits(before, none);
  t.same(reset, { cpu: null, memory: null, storage: null, containerMemory: null, pods: null });
  for (const each of [limits, reset]) t.ok(environmentUpdate.safeParse({ limits: each }).success, 'the API accepts it');
  t.end();
});

t.test('the command has the same limits', (t) => {
  t.same(limitFlags(before, before), []);
  t.same(limitFlags(before, { ...before, storage: ' ', pods: '70' }), ['--storage', 'default', '--pods', '70']);
  t.same(limitFlags(before, { ...before, cpu: '8', memory: '32Gi', containerMemory: '1Gi' }), [
    ...['--cpu', '8', '--memory', '32Gi', '--container-memory', '1Gi'],
  ]);
  t.end();
});
