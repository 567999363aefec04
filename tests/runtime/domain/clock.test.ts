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

t.test('a sleep longer than a timer can hold is made of several timers', async (t) => {
  const timers: { end: () => void; ms: number }[] = [];
  const replaced = t.intercept(globalThis, 'setTimeout', {
    value: (end: () => void, ms: number) => timers.push({ end, ms }),
  });
  const timerMax = 2 ** 31 - 1;
  const sleeps = [systemClock.sleep(2 ** 32), systemClock.sleep(timerMax)];
  for (const { end } of timers) end();
  replaced.restore();
  await Promise.all(sleeps);
  t.same(
    timers.map(({ ms }) => ms),
    [timerMax, timerMax, timerMax, 2],
  );
});

t.test('a sleep that is aborted before it starts rejects at once', async (t) => {
  await t.rejects(systemClock.sleep(2 ** 32, AbortSignal.abort(new Error('stopped'))), { message: 'stopped' });
});
