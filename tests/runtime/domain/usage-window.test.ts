import t from 'tap';
import { daysBefore, usageTotalsFrom, usageWindow } from '../../../runtime/domain/usage-window.ts';

/** Today is 2024-03-01; of 92 kept days the first is 2023-12-01, of 90 shown ones 2023-12-03. */
const now = new Date('2024-03-01T00:00:00Z');

t.test('days are counted across months, leap days and years', (t) => {
  t.equal(daysBefore('2024-03-01', 1), '2024-02-29');
  t.equal(daysBefore('2023-03-01', 1), '2023-02-28');
  t.equal(daysBefore('2024-01-01', 1), '2023-12-31');
  t.equal(daysBefore('2024-01-01', 0), '2024-01-01');
  t.equal(usageTotalsFrom(now), '2023-12-03');
  t.equal(usageTotalsFrom(new Date('2024-02-29T23:59:59.999Z')), '2023-12-02');
  t.end();
});

t.test('the time range in the answer', (t) => {
  const windows: [string, string, { from?: string; to?: string }][] = [
    ['2023-12-03', '2024-03-01', {}],
    ['2023-12-01', '2024-03-01', { from: '2023-12-01' }],
    ['2023-12-01', '2024-03-01', { from: '2023-11-30' }],
    ['2023-12-01', '2023-12-01', { to: '2023-12-01' }],
    ['2023-12-01', '2024-02-28', { to: '2024-02-28' }],
    ['2024-02-28', '2024-02-28', { from: '2024-02-28', to: '2024-02-28' }],
    ['2024-03-02', '2024-03-05', { from: '2024-03-02', to: '2024-03-05' }],
  ];
  for (const [from, to, query] of windows) t.same(usageWindow(query, now), { from, to }, JSON.stringify(query));
  t.throws(() => usageWindow({ from: '2024-02-02', to: '2024-02-01' }, now), { code: 'invalid_value' });
  t.throws(() => usageWindow({ from: '2024-03-02' }, now), { code: 'invalid_value' }, 'after today');
  t.throws(() => usageWindow({ to: '2023-11-30' }, now), { code: 'usage_expired' });
  t.throws(() => usageWindow({ from: '2023-01-01', to: '2023-11-30' }, now), { code: 'usage_expired' });
  t.end();
});
