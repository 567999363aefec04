import t from 'tap';
import { lowestId, newId } from '../../../runtime/domain/ids.ts';

t.test('the lowest identity of a moment is before those that are made from then on', async (t) => {
  t.equal(lowestId(new Date('2026-01-02T03:04:05.678Z')), '019b7ca9-8f2e-0000-0000-000000000000');
  const before = newId();
  await new Promise((resolve) => setTimeout(resolve, 2));
  const moment = lowestId(new Date());
  t.ok(before < moment);
  t.ok(newId() > moment);
  t.equal(lowestId(new Date(-1)), '00000000-0000-0000-0000-000000000000');
});
