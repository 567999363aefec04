import t from 'tap';
import { selfSignedCertificate } from '../../../infra/local/apiserver/certificate.ts';
import { newId } from '../../../runtime/domain/ids.ts';
import { deleteLogDrain, requestLogDrainTest } from '../../../runtime/records/log-drain.ts';
import { ownFolder } from '../../support/own-folder.ts';
import { record, startStore } from '../../runtime/logs/rig.ts';
import { drainWorld } from './drain-world.ts';

const token = 'Bearer very-secret';
const records = (count: number, text = 'line') =>
  Array.from({ length: count }, (_, index) => record(`${text} ${index}`, index));
const texts = (lines: { line: string }[]) => lines.map(({ line }) => line);

t.test('lines that are stored after the drain was set are sent once, in their order', async (t) => {
  const { store, set, step, receiver, current, metrics } = await drainWorld(t);
  await store.append({ records: records(1, 'before') });
  await set('json', { Authorization: token });
  t.ok((await step()) <= 2);
  t.same(receiver.received, []);
  await store.append({ records: records(3) });
  await step();
  await step();
  t.match(receiver.received, [
    { method: 'POST', path: '/push', headers: { authorization: token, 'content-encoding': 'gzip' } },
  ]);
  t.same(texts(receiver.lines()), ['line 0', 'line 1', 'line 2']);
  t.match(await current(), { sentLines: 3, refusedLines: 0, deletedLines: 0, pendingLines: 0, failures: 0 });
  t.match(await metrics(), /svc_log_drain_sent_lines_total 3\n/);
  t.match(await metrics(), /svc_log_drain_pending_lines 0\n/);
});

t.test('a receiver inside may have a certificate of the CA of the installation', async (t) => {
  const tls = selfSignedCertificate('receiver', { names: [], addresses: ['127.0.0.1'] }, new Date());
  const { store, kube, set, trust, step, receiver, current } = await drainWorld(t, { tls });
  await set('json');
  await step();
  await store.append({ records: records(1) });
  await step();
  t.match(await current(), { sentLines: 0, error: /certificate/ });
  t.same(receiver.received, []);
  trust(tls.certificate);
  await step();
  t.same(texts(receiver.lines()), ['line 0']);
  t.match(await current(), { sentLines: 1, failures: 0, error: null });

  kube.intercept = () => {
    throw new Error('the API server does not answer');
  };
  await store.append({ records: records(1, 'next') });
  await step();
  t.same(texts(receiver.lines()), ['line 0', 'next 0'], 'what was read last is still trusted');
});

t.test('a receiver that is down for long loses nothing, also when the store restarts', async (t) => {
  const folder = ownFolder(t);
  const store = await startStore(t, { folder, flushLength: 5_000 });
  const world = await drainWorld(t, { store });
  const { set, step, receiver, current } = world;
  await set('json');
  await step();
  receiver.answer = (response) => response.writeHead(503).end();
  for (let round = 0; round < 8; round++) await store.append({ records: records(50, `round ${round}`) });
  const waits: number[] = [];
  // A step sends nothing while its lines are being flushed.
  while ((await current()).failures < 8) waits.push(await step());
  t.ok((waits.at(-1) ?? 0) > 40 && (waits.at(-1) ?? 0) <= 61, 'the pause grows to a minute');
  t.match(await current(), { error: 'the receiver responded with 503', failingSince: Date, sentLines: 0 });
  await store.stop();
  const next = await startStore(t, { folder, flushLength: 5_000 });
  // The same database and receiver, with the store after its restart.
  world.store.feed = next.feed.bind(next);
  receiver.received.length = 0;
  receiver.answer = (response) => response.writeHead(204).end();
  await step();
  t.same(texts(receiver.lines()).length, 400);
  t.equal(new Set(texts(receiver.lines())).size, 400);
  t.match(await current(), {
    sentLines: 400,
    deletedLines: 0,
    pendingLines: 0,
    failures: 0,
    failingSince: null,
    error: null,
  });
  t.match(
    world.entries().filter(({ msg }) => String(msg).startsWith('log drain')),
    [{ msg: 'log drain failed' }, { msg: 'log drain works again' }],
    'a long failure is logged once',
  );
});

t.test('a receiver says when to try again, up to ten minutes', async (t) => {
  const { store, set, step, receiver, current } = await drainWorld(t);
  await set('json');
  await step();
  await store.append({ records: records(1) });
  for (const [status, retryAfter, seconds] of [
    [429, '120', 120],
    [503, '86400', 600],
    [503, 'soon', 1],
  ] as const) {
    receiver.answer = (response) => response.writeHead(status, { 'Retry-After': retryAfter }).end();
    const wait = await step();
    t.ok(wait >= seconds * 0.5 && wait <= seconds + 5, `${status} ${retryAfter}: ${wait}`);
    t.match(await current(), { error: `the receiver responded with ${status}` });
  }
});

t.test('lines that the receiver refuses are dropped and counted; wrong credentials drop nothing', async (t) => {
  const { store, set, step, receiver, current, metrics, entries } = await drainWorld(t);
  await set('json');
  await step();
  for (const status of [401, 403, 404]) {
    receiver.answer = (response) => response.writeHead(status).end();
    await store.append({ records: records(1, String(status)) });
    await step();
    t.match(await current(), { refusedLines: 0, error: `the receiver responded with ${status}` });
  }
  receiver.answer = (response) => response.writeHead(400).end();
  await step();
  t.match(await current(), { sentLines: 0, refusedLines: 3, pendingLines: 0, failures: 0, droppedAt: Date });
  t.match(await metrics(), /svc_log_drain_dropped_lines_total\{reason="refused"\} 3\n/);
  t.match(entries().at(-1), { msg: 'log drain lost lines', refused: 3 });
  receiver.answer = (response) => response.writeHead(204).end();
  await store.append({ records: records(1, 'next') });
  await step();
  t.match(await current(), { sentLines: 1, refusedLines: 3 });
});

t.test('a request that is too large is sent in halves, until one line is refused', async (t) => {
  const { store, set, step, receiver, current } = await drainWorld(t);
  await set('json');
  await step();
  const accepted: string[] = [];
  receiver.answer = (response, { body }) => {
    const lines = body.trim().split('\n');
    const isTooLarge = lines.length > 2 || body.includes('huge');
    if (!isTooLarge) accepted.push(...lines.map((line) => (JSON.parse(line) as { line: string }).line));
    response.writeHead(isTooLarge ? 413 : 200).end();
  };
  await store.append({ records: [...records(5), record('huge', 9)] });
  await step();
  t.same(accepted.toSorted(), texts(records(5)));
  t.match(await current(), { sentLines: 5, refusedLines: 1 });
});

t.test('one line that is refused, whatever the answer of 4xx, costs no other line', async (t) => {
  const { store, set, step, receiver, current } = await drainWorld(t);
  await set('json');
  await step();
  for (const [index, status] of [400, 413, 422].entries()) {
    receiver.received.length = 0;
    const accepted: string[] = [];
    receiver.answer = (response, { body }) => {
      const isBad = body.includes('bad');
      if (!isBad) accepted.push(...body.trim().split('\n'));
      response.writeHead(isBad ? status : 204).end();
    };
    const all = [...records(700), record('bad', 700), ...records(300)];
    await store.append({ records: all });
    await step();
    t.equal(accepted.length, 1_000, String(status));
    t.ok(receiver.received.length <= 25);
    t.match(await current(), {
      sentLines: 1_000 * (index + 1),
      refusedLines: index + 1,
      pendingLines: 0,
      failures: 0,
      error: `the receiver responded with ${status}`,
    });
  }
});

t.test('lines that an OTLP receiver rejects are counted', async (t) => {
  const { store, set, step, receiver, current } = await drainWorld(t);
  await set('otlp');
  await step();
  receiver.answer = (response) =>
    response.writeHead(200).end('{"partialSuccess":{"rejectedLogRecords":"2","errorMessage":"too old"}}');
  await store.append({ records: records(5) });
  await step();
  t.match(await current(), { sentLines: 3, refusedLines: 2, error: /rejected 2 of 5 lines/ });
});

t.test('a process that is killed after sending sends the page again, and counts it once', async (t) => {
  let isKilled = true;
  const failpoint = () => {
    if (isKilled) throw new Error('killed');
  };
  const { store, set, step, receiver, current } = await drainWorld(t, { failpoint });
  await set('json');
  await step();
  await store.append({ records: records(2) });
  await t.rejects(step(), /killed/);
  isKilled = false;
  await step();
  t.same(texts(receiver.lines()), ['line 0', 'line 1', 'line 0', 'line 1']);
  t.match(await current(), { sentLines: 2 });
});

t.test('a drain that is set again continues with its new address and headers', async (t) => {
  const { store, set, step, receiver, current, pool } = await drainWorld(t);
  await set('json', { Authorization: token });
  await step();
  receiver.answer = (response) => response.writeHead(500).end();
  await store.append({ records: records(1) });
  await step();
  receiver.answer = (response) => response.writeHead(204).end();
  await set('json', {}, `${receiver.url}/other`);
  t.match(await current(), { failures: 0, error: null });
  await step();
  const { path, headers } = receiver.received.at(-1) ?? {};
  t.same([path, headers?.authorization], ['/other', undefined]);
  t.match(await current(), { sentLines: 1 });
  await deleteLogDrain(pool);
  t.equal(Math.round(await step()), 3600);
});

t.test('a test line is sent whatever waits, and its result is kept', async (t) => {
  const { set, step, receiver, current, pool } = await drainWorld(t);
  await set('json');
  await requestLogDrainTest(pool, newId());
  await step();
  t.match(receiver.lines(), [{ namespace: 'svc-system', line: /Test of the log drain/ }]);
  t.match(await current(), { testState: 'delivered', testError: null, sentLines: 0 });
  receiver.answer = (response) => response.writeHead(401).end();
  await requestLogDrainTest(pool, newId());
  await step();
  t.match(await current(), { testState: 'failed', testError: 'the receiver responded with 401', failures: 0 });
});

t.test('a store that does not answer, and headers that cannot be decrypted, are named', async (t) => {
  const feed = { feed: () => Promise.reject(new Error('connect ECONNREFUSED 10.0.0.1:3100')) };
  const world = await drainWorld(t, { feed });
  await world.set('json');
  await world.step();
  t.match(await world.current(), { failures: 1, error: 'the log store does not answer, or is disabled' });
  await world.pool.query(`UPDATE log_drains SET headers = 'v1.k0.x.y'`);
  await world.step();
  t.match(await world.current(), { failures: 2, error: /cannot be decrypted/ });
});
