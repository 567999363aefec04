import t, { type Test } from 'tap';
import { createLogDrainRoutes } from '../../../functions/log-drain/handler.ts';
import { createChecks } from '../../../functions/platform/checks.ts';
import { logDrainContext } from '../../../runtime/domain/log-drain.ts';
import { parseKeyRing, unseal } from '../../../runtime/domain/sealed.ts';
import { logDrainId } from '../../../runtime/queues/catalogue.ts';
import { recordDrainedPage, recordDrainFailure, recordLogDrainTest } from '../../../runtime/records/log-drain.ts';
import { testApi } from '../../support/api.ts';
import { recordingLog } from '../../support/log.ts';
import { testDatabase } from '../../support/postgres.ts';

const path = '/api/v1/platform/log-drain';
const keyRing = parseKeyRing(JSON.stringify({ current: 'k', keys: { k: Buffer.alloc(32, 1).toString('base64') } }));
const loki = { url: 'https://loki.example.com', format: 'loki' };

async function rig(t: Test) {
  const { pool } = await testDatabase(t);
  const recorded = recordingLog();
  const api = await testApi(t, { routes: createLogDrainRoutes({ pool, keyRing }), log: recorded.log });
  return { pool, recorded, call: (...request: Parameters<typeof api.call>) => api.call(...request) };
}

t.test('200: the drain is set, its headers sealed and never shown, and its work is due', async (t) => {
  const { pool, call, recorded } = await rig(t);
  t.match(await call('GET', path), { status: 404, body: { code: 'not_found' } });
  const headers = { Authorization: 'Bearer very-secret', 'X-Scope-OrgID': 'tenant-secret' };
  const set = await call('PUT', path, { body: { ...loki, headers, networks: ['10.20.0.0/16', '10.20.0.0/16'] } });
  t.equal(set.status, 200, set.text);
  t.match(set.body, {
    url: 'https://loki.example.com/loki/api/v1/push',
    format: 'loki',
    headers: ['Authorization', 'X-Scope-OrgID'],
    networks: ['10.20.0.0/16'],
    status: 'on',
    sentLines: 0,
    pendingLines: 0,
  });
  const shown = await call('GET', path);
  t.same(shown.body, set.body);
  const { rows } = await pool.query<{ headers: string }>('SELECT headers FROM log_drains');
  t.same(JSON.parse(unseal(keyRing, logDrainContext(logDrainId), rows[0]?.headers ?? '')), headers);
  const work = await pool.query('SELECT kind, record_id, state FROM work');
  t.same(work.rows, [{ kind: 'log-drains', record_id: logDrainId, state: 'pending' }]);
  t.match(
    recorded.entries.find(({ action }) => action === 'platform.log-drain.set'),
    { logDrain: { origin: 'https://loki.example.com', format: 'loki' } },
  );
  const { rows: records } = await pool.query<{ text: string }>('SELECT log_drains::text AS text FROM log_drains');
  t.notMatch(JSON.stringify([set.body, shown.body, records, recorded.entries]), /very-secret|tenant-secret/);

  // The headers belong to the address: another one does not get them.
  const moved = await call('PUT', path, {
    body: { url: 'https://other.example.com/x?_msg_field=line', format: 'json' },
  });
  t.match(moved.body, { url: 'https://other.example.com/x?_msg_field=line', headers: [], networks: [] });
  t.match((await pool.query('SELECT headers FROM log_drains')).rows, [{ headers: null }]);
});

t.test('422: an address or header that cannot be used is refused, and changes nothing', async (t) => {
  const { pool, call } = await rig(t);
  for (const [body, field] of [
    [{ ...loki, url: 'ftp://loki.example.com' }, 'url'],
    [{ ...loki, url: 'loki' }, 'url'],
    [{ ...loki, url: 'https://user:very-secret@loki.example.com' }, 'url'],
    [{ ...loki, url: 'http://10.20.7.5:3100' }, 'networks'],
    [{ ...loki, url: 'http://169.254.169.254/latest' }, 'networks'],
    [{ ...loki, url: 'http://[::1]/' }, 'networks'],
    [{ ...loki, url: 'http://0x7f.1/' }, 'networks'],
    [{ ...loki, networks: ['10.20.7.5/16'] }, 'networks.0'],
    [{ ...loki, networks: ['everything'] }, 'networks.0'],
    [{ ...loki, headers: { Host: 'very-secret' } }, 'headers'],
    [{ ...loki, headers: { 'Content-Length': '1' } }, 'headers'],
    [{ ...loki, headers: { 'transfer-encoding': 'chunked' } }, 'headers'],
    [{ ...loki, headers: { 'X-A': 'very-secret\r\nX-B: 1' } }, 'headers'],
    [{ ...loki, headers: { 'X-A': '' } }, 'headers'],
    [{ ...loki, headers: { 'X A': 'very-secret' } }, 'headers'],
    [{ ...loki, headers: { 'X-A': 'very-secret', 'x-a': 'b' } }, 'headers'],
    [{ ...loki, headers: Object.fromEntries(Array.from({ length: 21 }, (_, at) => [`X-${at}`, 'a'])) }, 'headers'],
  ] as const) {
    const { text, ...answer } = await call('PUT', path, { body });
    t.match(answer, { status: 422, body: { code: 'invalid_value', details: { field } } }, JSON.stringify(body));
    t.notMatch(text, /very-secret/);
  }
  t.equal((await call('PUT', path, { body: { ...loki, format: 'syslog' } })).status, 400);
  t.equal((await call('PUT', path, { body: { ...loki, token: 'x' } })).status, 400);
  t.same((await pool.query('SELECT 1 FROM log_drains')).rows, []);
  t.same((await pool.query('SELECT 1 FROM work')).rows, []);
  t.match(await call('PUT', path, { body: { ...loki, url: 'http://10.20.7.5:3100', networks: ['10.20.7.5'] } }), {
    status: 200,
    body: { networks: ['10.20.7.5/32'] },
  });
});

t.test('202: a test is requested, and its result is shown', async (t) => {
  const { pool, call } = await rig(t);
  t.equal((await call('POST', `${path}/test`)).status, 404);
  await call('PUT', path, { body: loki });
  await pool.query(`UPDATE work SET due_at = now() + interval '1 hour'`);
  const { status, body } = await call('POST', `${path}/test`);
  t.match({ status, body }, { status: 202, body: { status: 'pending' } });
  t.match((await pool.query('SELECT due_at <= now() AS due FROM work')).rows, [{ due: true }]);
  await recordLogDrainTest(pool, String(body['id']), 'the receiver responded with 401');
  t.match((await call('GET', path)).body, {
    test: { id: body['id'], status: 'failed', error: 'the receiver responded with 401' },
  });
  t.notHas((await call('PUT', path, { body: loki })).body, { test: {} }, 'other settings have not been tested');
});

t.test('204: the drain is removed with its headers', async (t) => {
  const { pool, call } = await rig(t);
  t.equal((await call('DELETE', path)).status, 404);
  await call('PUT', path, { body: { ...loki, headers: { Authorization: 'Bearer very-secret' } } });
  t.equal((await call('DELETE', path)).status, 204);
  t.same((await pool.query('SELECT 1 FROM log_drains')).rows, []);
});

t.test('the status of the platform has the drain only when there is one, and says what was lost', async (t) => {
  const { pool, call } = await rig(t);
  const { components } = createChecks({ pool, controllersWork: () => Promise.resolve(true) });
  const check = () => components['log-drain']?.(true);
  t.equal(await check(), undefined);
  await call('PUT', path, { body: loki });
  t.same(await check(), { status: 'on', message: '0 lines pending' });
  const page = { before: null, position: '5', sent: 3, deleted: 1, pending: 4, lastLineAt: undefined };
  t.ok(await recordDrainedPage(pool, { ...page, refused: 2, error: 'the receiver responded with 400' }));
  t.notOk(await recordDrainedPage(pool, { ...page, refused: 2, error: undefined }), 'a page is counted once');
  t.same(await check(), {
    status: 'unhealthy',
    message: '4 lines pending; 2 refused, 1 deleted before they were sent; the receiver responded with 400',
  });
  await pool.query(`UPDATE log_drains SET dropped_at = now() - interval '1 hour', error = NULL`);
  await recordDrainFailure(pool, 'the connection was refused', 9);
  t.match(await check(), { status: 'on', message: /^9 lines pending; .*; the connection was refused$/ });
  await pool.query(`UPDATE log_drains SET failing_since = now() - interval '2 minutes'`);
  t.match(await check(), { status: 'unhealthy' });
  t.match((await call('GET', path)).body, {
    status: 'failing',
    error: 'the connection was refused',
    refusedLines: 2,
    deletedLines: 1,
  });
});
