import t from 'tap';
import { relativeTime } from '../../../functions/console/ui/parts/relative-time.ts';

const now = Date.parse('2026-03-01T12:00:00Z');
const at = (seconds: number) => relativeTime(new Date(now + seconds * 1000).toISOString(), now);

t.test('a time is told by its distance from now', (t) => {
  t.same([-9, -10, -90, -7_200].map(at), ['now', '10 sec. ago', '1 min. ago', '2 hr. ago']);
  t.same([-86_400, -3 * 86_400, -400 * 86_400].map(at), ['yesterday', '3 days ago', 'last yr.']);
  t.same([60, 3_600, 14 * 86_400].map(at), ['in 1 min.', 'in 1 hr.', 'in 14 days']);
  t.same([1, 59].map(at), ['now', 'now'], 'the clock of the server may be ahead');
  t.end();
});
