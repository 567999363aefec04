import t from 'tap';
import { createRequestLog } from '../../../runtime/http/request-log.ts';
import { fakeClock } from '../../support/clock.ts';
import { recordingLog } from '../../support/log.ts';

t.test('beyond fifty in a second, refused requests are summed exactly; others never are', async (t) => {
  const clock = fakeClock();
  const recording = recordingLog();
  const { log } = recording;
  let seen = 0;
  const write = createRequestLog(log, clock);
  const many = (count: number, status: number, route = '/api/v1/session') => {
    for (let index = 0; index < count; index++) write({ method: 'POST', route, status, ms: 1 }, log);
  };
  /** The entries since the last call. */
  const written = () => {
    const all = recording.entries;
    const fresh = all.slice(seen);
    seen = all.length;
    return fresh;
  };
  many(10_000, 429);
  many(7, 401);
  many(3, 413, '/api/v1/sources');
  many(200, 201);
  const single = written();
  t.equal(single.filter(({ status }) => status === 429).length, 50);
  t.equal(single.filter(({ status }) => status === 201).length, 200);
  t.equal(single.length, 250);
  await clock.advance(1_000);
  t.match(written(), [
    { msg: 'requests refused', method: 'POST', route: '/api/v1/session', status: 429, count: 9_950 },
    { msg: 'requests refused', status: 401, count: 7 },
    { msg: 'requests refused', route: '/api/v1/sources', status: 413, count: 3 },
  ]);
  t.equal(clock.sleepers(), 0);
  many(1, 404);
  t.match(written(), [{ msg: 'request', status: 404 }], 'the next second has room again');
  await clock.advance(1_000);
  t.same(written(), []);
});
