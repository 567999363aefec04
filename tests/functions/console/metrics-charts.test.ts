import t from 'tap';
import {
  chartsOf,
  columnsOf,
  hasValues,
  isolatedOf,
  labelledOf,
  secondsText,
  topOf,
} from '../../../functions/console/ui/metrics/charts.ts';
import { metricsRanges, metricsSearch } from '../../../functions/console/ui/metrics/search.ts';
import { metricsRanges as rangesOfApi } from '../../../runtime/contracts/api/metrics.ts';
import { figuresOf } from '../../../runtime/metrics/figures.ts';

const figuresFor = (kind: Parameters<typeof figuresOf>[0]) =>
  Object.fromEntries(figuresOf(kind).map((name) => [name, [1]]));
const namesOf = (kind: Parameters<typeof figuresOf>[0]) => chartsOf({ figures: figuresFor(kind) });

t.test('each figure of a workload is in one chart', (t) => {
  for (const kind of ['app', 'function', 'job', 'service'] as const) {
    const shown = namesOf(kind).flatMap(({ figures }) => [...figures]);
    t.same(shown.toSorted(), figuresOf(kind).toSorted(), kind);
  }
  t.equal(namesOf('app')[0]?.name, 'requests', 'what users notice comes first');
  t.end();
});

t.test('the values of a chart have their times, and gaps stay gaps', (t) => {
  const [chart] = namesOf('app');
  if (!chart) throw new Error('there is no chart');
  const columns = columnsOf(chart, {
    name: 'api',
    from: '2026-01-01T00:00:00.000Z',
    to: '2026-01-01T00:02:00.000Z',
    stepSeconds: 60,
    figures: { requestsPerSecond: [1, null, 3], errorsPerSecond: [null, null, 0] },
  });
  const start = Date.UTC(2026, 0, 1) / 1000;
  t.same(columns, [
    [start, start + 60, start + 120],
    [1, null, 3],
    [null, null, 0],
  ]);
  t.ok(hasValues(columns), '0 is a value');
  t.notOk(hasValues([[start], [null], [null]]));
  t.end();
});

t.test('an axis begins at 0 and ends above the data, also without any', (t) => {
  t.equal(topOf(10), 11);
  t.equal(topOf(0), 1);
  t.equal(topOf(null), 1);
  t.end();
});

t.test('values show their unit', (t) => {
  t.same([0, 0.0123, 0.152_514, 1.5, 61, 1234.5].map(secondsText), [
    '0 ms',
    '12.3 ms',
    '153 ms',
    '1.5 s',
    '61 s',
    '1,235 s',
  ]);
  const memory = namesOf('job').find(({ name }) => name === 'memory');
  t.equal(memory?.show(67_108_864), '64 MiB');
  t.end();
});

t.test('an address names a range of the API, and nothing else', (t) => {
  t.same(metricsRanges, rangesOfApi);
  t.same(metricsSearch({ range: '6h' }), { range: '6h' });
  for (const range of ['7d', '', 6, ['1h'], undefined]) t.same(metricsSearch({ range }), {});
  t.end();
});

t.test('a value between two gaps is drawn as a point, because no line shows it', (t) => {
  t.same(isolatedOf([1, null, 2, 3, null, 0, null, undefined, 4]), [0, 5, 8]);
  t.same(isolatedOf([1, 2, 3]), []);
  t.same(isolatedOf([]), []);
  t.end();
});

t.test('of marks that are close, the newest keeps its label', (t) => {
  const marks = [10, 14, 18, 60].map((x) => ({ x, width: 12 }));
  t.same(
    labelledOf(marks).map(({ x }) => x),
    [60, 18],
  );
  t.end();
});
