import t from 'tap';
import { systemClock } from '../../../runtime/domain/clock.ts';

t.test('a sleep of months lasts, although timers that cannot hold it would end it at once', async (t) => {
  const stopping = new AbortController();
  const months = systemClock.sleep(2 ** 32, stopping.signal).then(
    () => 'over',
    (error: Error) => error.message,
  );
  t.equal(await Promise.race([months, systemClock.sleep(50).then(() => 'still')]), 'still');
  stopping.abort(new Error('stopped'));
  t.equal(await months, 'stopped');
});
