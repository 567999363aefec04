import { cp, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { createFeedClient } from '../../../runtime/logs/feed-client.ts';
import { createFlushLog } from '../../../runtime/logs/flush-log.ts';
import { fakeClock } from '../../support/clock.ts';
import { ownFolder } from '../../support/own-folder.ts';
import { seededRandom } from '../../support/random.ts';
import { soakFactor, testSeed } from '../../support/soak.ts';
import { appendToken, feedAll, readToken, record, startServer, startStore } from './rig.ts';

const seed = testSeed();
const { signal } = new AbortController();
const workload = (name: string) => ({ workload: { kind: 'app' as const, name } });

const journalsOf = async (folder: string) => (await readdir(folder)).filter((name) => name.startsWith('journal-'));

t.test('the lines of all workloads come in the order in which they were accepted', async (t) => {
  const store = await startStore(t);
  await store.append({ records: [record('before', 1)] });
  const { url } = await startServer(t, store);
  const client = createFeedClient({ url, token: () => Promise.resolve(`${readToken}\n`) });
  const start = await client.feed(undefined, signal);
  t.match(start, { lines: [], missed: 0, pending: 0 });
  t.same(await client.feed(start.position, signal), start);
  // Later lines can have earlier times.
  await store.append({ records: [record('b', 20, workload('web')), record('a', 10)] });
  await store.append({ records: [record('c', 5, { ...workload('job'), namespace: 'blog-prod', stream: 'stderr' })] });
  const { lines, position } = await client.feed(start.position, signal);
  t.match(lines, [
    record('b', 20, workload('web')),
    record('a', 10),
    record('c', 5, { ...workload('job'), namespace: 'blog-prod', stream: 'stderr' }),
  ]);
  t.ok(lines.every(({ id }, at) => at === 0 || id === (lines[at - 1]?.id ?? 0) + 1));
  t.match(await client.feed(position, signal), { lines: [], position, pending: 0 });
  // A position of a store that has more is the end.
  const ahead = position.replace(/\d+$/, '9000000000000000');
  t.match(await client.feed(ahead, signal), { lines: [], position, pending: 0 });
});

t.test('the feed needs the token that reads, and a position of its own', async (t) => {
  const { url } = await startServer(t, await startStore(t));
  const get = async (query: string, token: string) =>
    (await fetch(`${url}/feed${query}`, { headers: { authorization: `Bearer ${token}` } })).status;
  for (const token of ['', 'wrong', appendToken]) t.equal(await get('', token), 401);
  for (const position of ['', 'x', '1', '1.2.3', '1.2.3.4', '1.2.3.4.5.6', `1.${'1'.repeat(30)}`]) {
    t.equal(await get(`?position=${position}`, readToken), 400);
  }
  t.equal(await get('?position=1.2.3.4.5', readToken), 200);
});

t.test(`each line is in one page, whatever is flushed and restarted meanwhile (SVC_SEED=${seed})`, async (t) => {
  const random = seededRandom(seed);
  for (let round = 0; round < 5 * soakFactor(); round++) {
    const folder = ownFolder(t);
    // Small buffers, so that flushes are frequent; long lines, so that a flush has several pages.
    const options = { folder, flushLength: random.between(2_000, 2_000_000), bufferLength: 100_000_000 };
    let store = await startStore(t, options);
    let { position } = await feedAll(store, undefined);
    const expected: string[] = [];
    const read: string[] = [];
    for (let step = 0; step < 60; step++) {
      const choice = random.between(0, 9);
      if (choice < 6) {
        const records = Array.from({ length: random.between(1, 20) }, () => {
          expected.push(`${expected.length} ${'x'.repeat(random.between(0, 20_000))}`);
          return record(expected.at(-1) ?? '', random.between(0, 10_000_000), workload(`api-${random.between(0, 4)}`));
        });
        await store.append({ records });
      } else if (choice < 9) {
        const page = await store.feed(position, signal);
        t.equal(page.missed, 0);
        read.push(...page.lines.map(({ line }) => line));
        position = page.position;
      } else {
        await store.stop();
        store = await startStore(t, options);
      }
    }
    const rest = await feedAll(store, position);
    t.equal(rest.missed, 0);
    read.push(...rest.lines.map(({ line }) => line));
    const byNumber = (a: string, b: string) => Number.parseInt(a, 10) - Number.parseInt(b, 10);
    t.same(read.toSorted(byNumber), expected, `round ${round}`);
  }
});

t.test('after a kill, the feed continues with what the journal had', async (t) => {
  const [folder, image] = [ownFolder(t), ownFolder(t)];
  const store = await startStore(t, { folder });
  const { position } = await feedAll(store, undefined);
  await store.append({ records: [record('one', 1)] });
  const first = await feedAll(store, position);
  await store.append({ records: [record('two', 2)] });
  await cp(folder, image, { recursive: true });
  const next = await startStore(t, { folder: image });
  await next.append({ records: [record('three', 3)] });
  const { lines, missed } = await feedAll(next, first.position);
  t.same([lines.map(({ line }) => line), missed], [['two', 'three'], 0]);
});

t.test('after a kill with two journals, the feed has the lines of both', async (t) => {
  const [folder, image] = [ownFolder(t), ownFolder(t)];
  const one = await startStore(t, { folder });
  const { position } = await feedAll(one, undefined);
  await one.append({ records: [record('one', 1), record('two', 2)] });
  const [journal = ''] = await journalsOf(folder);
  await cp(join(folder, journal), join(image, journal));
  await one.stop();
  const two = await startStore(t, { folder });
  await two.append({ records: [record('three', 3)] });
  // As if the process had died while it flushed the first journal, after it had written the state.
  await cp(folder, image, { recursive: true, filter: (path) => !path.endsWith(journal) });
  const stateFile = join(image, 'state.json');
  const state = JSON.parse(await readFile(stateFile, 'utf8')) as { next: number };
  const generation = Number(journal.split('-')[1]);
  await writeFile(stateFile, JSON.stringify({ ...state, generation, next: state.next + 1 }));
  const { lines, missed } = await feedAll(await startStore(t, { folder: image }), position);
  t.same([lines.map(({ line }) => line), missed], [['one', 'two', 'three'], 0]);
});

t.test('lines that the store has deleted are counted', async (t) => {
  const folder = ownFolder(t);
  let store = await startStore(t, { folder });
  const { position } = await feedAll(store, undefined);
  await store.append({ records: [record('a', 1), record('b', 2), record('kept', 3, workload('web'))] });
  await store.stop();
  // As an eviction does.
  const [file = ''] = await readdir(join(folder, 'segments/shop-prod/app/api'));
  await cp('/dev/null', join(folder, 'segments/shop-prod/app/api', file), { force: true });
  store = await startStore(t, { folder });
  const rest = await feedAll(store, position);
  t.same([rest.lines.map(({ line }) => line), rest.missed], [['kept'], 2]);

  // Whole flushes that are no longer recorded.
  await store.append({ records: [record('c', 1)] });
  await store.stop();
  const log = createFlushLog(join(folder, 'flushes'));
  await log.load();
  await log.clean(Infinity);
  store = await startStore(t, { folder });
  await store.append({ records: [record('d', 1)] });
  const last = await feedAll(store, rest.position);
  t.same([last.lines.map(({ line }) => line), last.missed], [['d'], 1]);
});

t.test('flushes are recorded only while something reads them', async (t) => {
  const folder = ownFolder(t);
  const recorded = () => readdir(join(folder, 'flushes')).catch(() => []);
  let store = await startStore(t, { folder });
  await store.append({ records: [record('a', 1)] });
  await store.stop();
  t.same(await recorded(), []);
  store = await startStore(t, { folder });
  await feedAll(store, undefined);
  await store.append({ records: [record('b', 2)] });
  await store.stop();
  t.equal((await recorded()).length, 1);
});

t.test('a record that is damaged is no failure, and one of a repeated flush is replaced', async (t) => {
  const folder = ownFolder(t);
  const log = createFlushLog(folder);
  const part = { namespace: 'shop-prod', kind: 'app' as const, name: 'api', hour: '2026-01-01T00', count: 1, last: 1 };
  for (let generation = 10_000; generation <= 10_003; generation++) {
    await log.add({ generation, first: generation, last: generation, at: generation }, [{ ...part, last: generation }]);
  }
  t.equal(log.after(10_001)?.generation, 10_002);
  t.same(await log.parts({ generation: 10_002, first: 0, last: 0, at: 0 }), [{ ...part, last: 10_002 }]);
  await log.add({ generation: 10_002, first: 5, last: 6, at: 7 }, [part]);
  t.same(await readdir(folder).then((files) => files.length), 3);
  const [file = ''] = (await readdir(folder)).filter((name) => name.startsWith('10002-'));
  await cp('/dev/null', join(folder, file), { force: true });
  t.equal(await log.parts({ generation: 10_002, first: 0, last: 0, at: 0 }), undefined);
  await log.clean(Infinity);
  t.same(await readdir(folder), []);
});

t.test('a store whose data was deleted is read from its beginning', async (t) => {
  // Both begin at the same moment.
  const clock = fakeClock(new Date());
  const old = await startStore(t, { clock });
  const { position } = await feedAll(old, undefined);
  await old.append({ records: [record('old', 1)] });
  const last = await feedAll(old, position);
  const store = await startStore(t, { clock });
  await store.append({ records: [record('new', 1)] });
  const { lines, missed } = await feedAll(store, last.position);
  t.same([lines.map(({ line }) => line), missed], [['new'], 0]);
});
