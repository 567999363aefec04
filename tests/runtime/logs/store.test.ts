import { cpSync, readdirSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { appendFile, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { zstdDecompressSync } from 'node:zlib';
import t, { type Test } from 'tap';
import { StoreBusy, type LogReader, type LogStore } from '../../../runtime/logs/log-store.ts';
import { headerLength } from '../../../runtime/logs/block.ts';
import { systemDisk } from '../../../runtime/logs/disk.ts';
import { ownFolder } from '../../support/own-folder.ts';
import { fakeClock } from '../../support/clock.ts';
import { at, base, everything, readAll, record, startServer, startStore, texts } from './rig.ts';

const segments = (folder: string) =>
  readdirSync(join(folder, 'segments'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.zst'))
    .toSorted();

/** The tests of the port, on the store itself and through its server. */
const readers: [string, (t: Test, store: LogStore) => Promise<LogReader>][] = [
  ['store', (_t, store) => Promise.resolve(store)],
  ['server', async (t, store) => (await startServer(t, store)).client],
];

for (const [name, readerOf] of readers) {
  t.test(`${name}: lines are sorted by time, also when they arrive late and after they were written`, async (t) => {
    const store = await startStore(t, { flushLength: 1 });
    const reader = await readerOf(t, store);
    await store.append({ records: [record('c', 3_000), record('a', 1_000)] });
    await store.append({ records: [record('d', 3_700_000), record('b', 2_000, { pod: 'app-api-2' })] });
    await store.append({ records: [record('other', 1_500, { workload: { kind: 'app', name: 'web' } })] });
    t.same(await texts(reader), ['a', 'b', 'c', 'd']);
    t.same(await texts(reader, { direction: 'backward' }), ['d', 'c', 'b', 'a']);
    t.same(await texts(reader, { from: at(2_000), to: at(3_000) }), ['b'], 'the end is exclusive');
    t.same(await texts(reader, { direction: 'backward', limit: 2 }), ['d', 'c']);
    t.same(await texts(reader, { pod: 'app-api-2' }), ['b']);
    t.same(await texts(reader, { pod: 'app-api-*' }), ['a', 'b', 'c', 'd']);
    t.same(await texts(reader, { container: 'sidecar' }), []);
    t.same(await texts(reader, { kind: 'function' }), []);
    t.match((await readAll(reader))[0], { time: at(1_000), pod: 'app-api-1', container: 'app', stream: 'stdout' });
  });

  t.test(`${name}: a search and a level select lines`, async (t) => {
    const store = await startStore(t);
    const reader = await readerOf(t, store);
    const lines = [
      'plain "quoted" text\twith a tab',
      '{"level":"warn","msg":"slow"}',
      '{"level":50,"msg":"pino error"}',
      '{"lvl":"info","msg":"fine"}',
      '{"severity":"CRITICAL","msg":"down"}',
      '{"msg":"the level is error"}',
      'ünïcode 💥 {"level"',
    ];
    await store.append({ records: lines.map((line, index) => record(line, index)) });
    t.same(await texts(reader, { search: '"quoted" text\t' }), [lines[0]]);
    t.same(await texts(reader, { search: '💥' }), [lines[6]]);
    t.same(await texts(reader, { search: 'pod' }), [], 'other fields are not searched');
    t.same(await texts(reader, { search: 'error' }), [lines[2], lines[5]]);
    t.same(await texts(reader, { level: 'warn' }), [lines[1], lines[2], lines[4]]);
    t.same(await texts(reader, { level: 'error', search: 'pino' }), [lines[2]]);
  });

  t.test(`${name}: a cursor continues between lines of one time, in both directions`, async (t) => {
    const store = await startStore(t, { flushLength: 1 });
    const reader = await readerOf(t, store);
    for (const first of [0, 1_000, 2_000]) {
      const records = Array.from({ length: 1_000 }, (_, index) => record(String(first + index), 5_000));
      await store.append({ records });
    }
    for (const direction of ['forward', 'backward'] as const) {
      const pages: string[] = [];
      for (let after; ;) {
        const page = await readAll(reader, { direction, limit: 700, after });
        if (page.length === 0) break;
        pages.push(...page.map(({ line }) => line));
        after = page.at(-1);
      }
      const numbers = pages.map(Number);
      const sorted = numbers.toSorted((a, b) => (direction === 'forward' ? a - b : b - a));
      t.same(numbers, sorted);
      t.equal(new Set(numbers).size, 3_000, direction);
    }
  });
}

t.test('lines that cannot be kept are counted', async (t) => {
  const store = await startStore(t);
  const good = record('good', 0);
  await store.append({
    records: [
      undefined,
      {},
      { ...good, namespace: '../../etc' },
      { ...good, workload: { kind: 'app', name: '..' } },
      { ...good, workload: { kind: 'secret', name: 'api' } },
      { ...good, time: '2026-01-01T00:00:00Z' },
      { ...good, pod: 'a/b' },
      { ...good, time: '2020-01-01T00:00:00.000000000Z' },
      { ...good, time: '2099-01-01T00:00:00.000000000Z' },
      good,
      { ...good, namespace: 'constructor', line: 'x'.repeat(300_000) },
    ],
  });
  t.match(store.status(), { dropped: { invalid: 7, expired: 2 } });
  t.same(await texts(store), ['good']);
  const [long] = await readAll(store, { namespace: 'constructor' });
  t.equal(long?.line.length, 256 * 1024, 'a line is cut');
});

t.test('a batch that is sent again is stored once, also after a restart', async (t) => {
  const folder = ownFolder(t);
  const first = await startStore(t, { folder });
  const shipper = { name: 'node-1', sequence: 7 };
  await first.append({ shipper, records: [record('one', 1)] });
  await first.append({ shipper, records: [record('one', 1)] });
  await first.append({ shipper: { name: 'node-2', sequence: 7 }, records: [record('two', 2)] });
  await first.stop();
  const second = await startStore(t, { folder });
  await second.append({ shipper, records: [record('one', 1)] });
  await second.append({ shipper: { name: 'node-1', sequence: 8 }, records: [record('three', 3)] });
  t.same(await texts(second), ['one', 'two', 'three']);
});

t.test('segments are JSON lines for other tools, and a cut write is removed', async (t) => {
  const folder = ownFolder(t);
  const store = await startStore(t, { folder });
  await store.append({ records: [record('one', 1), record('two', 2)] });
  await store.stop();
  const [name = ''] = segments(folder);
  const path = join(folder, 'segments', name);
  t.match(name, /^shop-prod\/app\/api\/\d{4}-\d\d-\d\dT\d\d\.jsonl\.zst$/);
  // Node stops after the frame with the header, which other decoders skip.
  const text = zstdDecompressSync((await readFile(path)).subarray(headerLength)).toString();
  t.match(text, /^\{"id":\d+,"time":"[^"]+","pod":"app-api-1","container":"app","stream":"stdout","line":"one"\}\n/);
  const { size } = statSync(path);
  await appendFile(path, (await readFile(path)).subarray(0, size - 10));
  const second = await startStore(t, { folder });
  t.same(await texts(second), ['one', 'two']);
  await second.append({ records: [record('three', 3)] });
  await second.stop();
  const third = await startStore(t, { folder });
  t.same(await texts(third), ['one', 'two', 'three']);
  truncateSync(path, size - 1);
  t.same(await texts(third), [], 'a segment that lost its end does not break a reading');
});

t.test('a store whose state was lost keeps its lines', async (t) => {
  const folder = ownFolder(t);
  const store = await startStore(t, { folder });
  await store.append({ records: [record('one', 1)] });
  await store.stop();
  await writeFile(join(folder, 'state.json'), '{"generation":');
  const second = await startStore(t, { folder });
  await second.append({ records: [record('two', 2)] });
  await second.stop();
  t.same(await texts(await startStore(t, { folder })), ['one', 'two']);
});

t.test('old lines are deleted, and a namespace that prints much loses its own first', async (t) => {
  const folder = ownFolder(t);
  const clock = fakeClock(new Date(base));
  const options = { folder, clock, maxBytes: 200_000 };
  const first = await startStore(t, options);
  const random = () => Array.from({ length: 20_000 }, () => Math.random().toString(36).slice(2, 6)).join('');
  await first.append({ records: [record('quiet', 0, { namespace: 'quiet-prod' })] });
  for (let hour = 0; hour < 5; hour++) {
    await first.append({ records: [record(`${hour}${random()}`, hour * 3_600_000)] });
    clock.jump(3_600_000);
  }
  await first.stop();
  const store = await startStore(t, options);
  t.same(await texts(store, { namespace: 'quiet-prod' }), ['quiet']);
  const noisy = (await texts(store)).map((line) => line[0]);
  t.ok(noisy.length > 0 && noisy.length < 5, `${noisy.length} of 5 hours are left`);
  t.equal(noisy.at(-1), '4', 'the newest lines stay');
  const status = store.status();
  t.ok(status.bytes <= 200_000);
  t.ok((status.namespaces['shop-prod']?.evictedBytes ?? 0) > 0);
  const { keptSince } = await store.read(everything, new AbortController().signal);
  t.ok(keptSince > at(0), 'a reader is told what is missing');
  clock.jump(73 * 3_600_000);
  await store.clean();
  t.same(segments(folder), []);
  t.same(readdirSync(join(folder, 'segments')), [], 'no empty folder stays');
});

t.test('a full disk refuses lines, deletes some old ones, and recovers', async (t) => {
  const folder = ownFolder(t);
  let isFull = false;
  const full = Object.assign(new Error('no space left'), { code: 'ENOSPC' });
  const store = await startStore(t, {
    folder,
    flushLength: 100_000,
    disk: {
      async append(file, bytes) {
        if (!isFull) return systemDisk.append(file, bytes);
        await systemDisk.append(file, bytes.subarray(0, 10));
        throw full;
      },
    },
  });
  await store.append({ shipper: { name: 'node', sequence: 1 }, records: [record('one', 1)] });
  isFull = true;
  const batch = { shipper: { name: 'node', sequence: 2 }, records: [record('two', 2)] };
  await t.rejects(store.append(batch), new StoreBusy('disk_full'));
  t.equal(store.status().diskFull, true);
  t.same(await texts(store), ['one'], 'what is stored can be read');
  isFull = false;
  await store.append(batch);
  await store.append({ records: [record('three', 3)] });
  await store.stop();
  const second = await startStore(t, { folder });
  t.same(await texts(second), ['one', 'two', 'three'], 'nothing is lost or doubled');
  t.equal(second.status().diskFull, false);
});

t.test('lines in memory are bounded while segments cannot be written', async (t) => {
  const folder = ownFolder(t);
  let isFull = false;
  const store = await startStore(t, {
    folder,
    flushLength: 10_000,
    bufferLength: 30_000,
    disk: {
      async append(file, bytes) {
        // Only the journal has room.
        if (isFull && bytes.readUInt32LE(0) === 0x184d2a50) throw Object.assign(new Error('full'), { code: 'ENOSPC' });
        await systemDisk.append(file, bytes);
      },
    },
  });
  isFull = true;
  let stored = 0;
  await t.rejects(async () => {
    for (; ; stored++) await store.append({ records: [record(`${stored} ${'x'.repeat(1_000)}`, stored)] });
  }, StoreBusy);
  t.ok(stored > 10 && stored < 100, `${stored} lines`);
  t.equal((await texts(store)).length, stored);
  isFull = false;
  await store.stop();
  const second = await startStore(t, { folder });
  t.equal((await texts(second)).length, stored, 'each once');
});

t.test('a reading that is stopped ends', async (t) => {
  const store = await startStore(t, { flushLength: 1 });
  await store.append({ records: Array.from({ length: 3_000 }, (_, index) => record(String(index), index)) });
  const stop = new AbortController();
  const { batches } = await store.read(everything, stop.signal);
  await batches.next();
  stop.abort(new Error('enough'));
  await t.rejects(batches.next(), /enough/);
});

t.test('what was acknowledged before the first state was written outlives a kill, and a damaged state', async (t) => {
  const folder = ownFolder(t);
  const store = await startStore(t, { folder });
  await store.append({ records: [record('one', 1_000)] });
  // As a kill leaves the folder: the store writes its lines to segments only later.
  for (const state of [undefined, '{"generation":']) {
    const copy = join(ownFolder(t), 'logs');
    cpSync(folder, copy, { recursive: true });
    if (state !== undefined) writeFileSync(join(copy, 'state.json'), state);
    const other = await startStore(t, { folder: copy });
    t.same(await texts(other), ['one']);
    await other.append({ records: [record('two', 2_000)] });
    t.same(await texts(other), ['one', 'two']);
  }
});
