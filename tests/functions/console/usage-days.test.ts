import t from 'tap';
import { daysOf, scaleOf } from '../../../functions/console/ui/keys/usage-days.ts';

t.test('a chart has every day of its range, also those without traffic', (t) => {
  const day = { day: '2026-03-01', allowed: 3, rateDenied: 2, quotaDenied: 1 };
  t.same(daysOf('2026-02-28', '2026-03-02', [day]), [
    { day: '2026-02-28', allowed: 0, rateDenied: 0, quotaDenied: 0 },
    day,
    { day: '2026-03-02', allowed: 0, rateDenied: 0, quotaDenied: 0 },
  ]);
  t.equal(daysOf('2026-08-28', '2026-11-25', []).length, 90);
  t.end();
});

t.test('a scale ends at a round number that is not below the highest value', (t) => {
  t.same([0, 1, 2, 3, 7, 10, 11, 180, 501, 1_000_000].map(scaleOf), [1, 1, 2, 5, 10, 10, 20, 200, 1000, 1_000_000]);
  t.end();
});
