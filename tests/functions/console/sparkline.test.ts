import t from 'tap';
import { sparklineOf } from '../../../functions/console/ui/environment/sparkline.ts';

t.test('the requests of a workload are a line, and the CPU of one without requests', (t) => {
  t.equal(sparklineOf(undefined), undefined);
  t.equal(sparklineOf({ requestsPerSecond: [null, null], cpuCores: [] }), undefined);
  t.same(sparklineOf({ requestsPerSecond: [0, 5, 10], cpuCores: [1, 1, 1] }), {
    figure: 'requestsPerSecond',
    highest: 10,
    lines: ['0,19 42,10 84,1'],
  });
  t.same(sparklineOf({ requestsPerSecond: [0, 0, 0], cpuCores: [0.5, null, 0.25] }), {
    figure: 'cpuCores',
    highest: 0.5,
    lines: ['0,1', '84,10'],
  });
  t.match(sparklineOf({ cpuCores: [0, 0] }), { figure: 'cpuCores', lines: ['0,19 84,19'] });
  t.end();
});
