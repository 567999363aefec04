import t from 'tap';
import { workloadOfLabels } from '../../../runtime/domain/workload-labels.ts';

t.test('labels of the platform name a workload', async (t) => {
  for (const [kind, name] of [
    ['App', 'app'],
    ['Function', 'function'],
    ['Job', 'job'],
    ['Service', 'service'],
  ]) {
    t.same(workloadOfLabels({ 'platform.svc/kind': kind ?? '', app: 'api' }), { kind: name, name: 'api' });
  }
  for (const labels of [
    undefined,
    {},
    { app: 'api' },
    { 'platform.svc/kind': 'App' },
    { 'platform.svc/kind': 'Build', app: 'api' },
  ]) {
    t.equal(workloadOfLabels(labels), undefined, JSON.stringify(labels));
  }
});
