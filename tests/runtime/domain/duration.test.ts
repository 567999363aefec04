import t from 'tap';
import { durationText } from '../../../runtime/domain/duration.ts';

t.test('a duration is in minutes when it has no odd seconds', async (t) => {
  t.same([60, 61, 90, 1_500, 1].map(durationText), ['1 minute', '61 seconds', '90 seconds', '25 minutes', '1 second']);
});
