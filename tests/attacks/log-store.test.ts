import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { crc32, gzipSync, zstdCompressSync } from 'node:zlib';
import { PassThrough } from 'node:stream';
import t from 'tap';
import { streamReply } from '../../runtime/api/log-reply.ts';
import { systemClock, type Clock } from '../../runtime/domain/clock.ts';
import type { LogStore } from '../../runtime/logs/log-store.ts';
import { queryParameters } from '../../runtime/logs/query.ts';
import type { LogRecord, StoredLine } from '../../runtime/logs/record.ts';
import { appendToken, everything, readToken, record, startServer, startStore, texts } from '../runtime/logs/rig.ts';
import { recordingLog } from '../support/log.ts';
import { ownFolder } from '../support/own-folder.ts';
import { seededRandom } from '../support/random.ts';
import { testSeed } from '../support/soak.ts';

/*
 * The log store keeps and reads the lines of every tenant in one process. Long lines, and clients that take them slowly or
 * ask for many, must not cost its memory or the places of others.
 */

const long = 'x'.repeat(64 * 1024);

/** A store that answers every reading with these batches. */
const answering = (
  store: LogStore,
  batches: (signal: AbortSignal) => AsyncGenerator<StoredLine[], undefined>,
): LogStore => ({ ...store, read: (_query, signal) => Promise.resolve({ keptSince: '', batches: batches(signal) }) });

t.test('long lines are read in small batches', async (t) => {
  const store = await startStore(t);
  for (let batch = 0; batch < 4; batch++) {
    await store.append({ records: Array.from({ length: 32 }, (_, index) => record(long, batch * 100 + index)) });
  }
  const { batches } = await store.read(everything, new AbortController().signal);
  const sizes: number[] = [];
  for await (const batch of batches) sizes.push(batch.length);
  t.same(
    sizes,
    Array.from({ length: 32 }, () => 4),
  );
});

t.test('a client that takes nothing makes the store hold few lines as text', async (t) => {
  let texts = 0;
  const line = (id: number): StoredLine => ({
    ...record('', id),
    id,
    get line() {
      texts += 1;
      return long;
    },
  });
  const store = answering(await startStore(t), async function* () {
    yield Array.from({ length: 2_000 }, (_, id) => line(id));
    return undefined;
  });
  const { url } = await startServer(t, store);
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  t.teardown(() => socket.destroy());
  const query = queryParameters(everything).toString();
  socket.write(`GET /read?${query} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${readToken}\r\n\r\n`);
  await once(socket, 'readable');
  t.ok(texts > 0 && texts < 1_000, `${texts} lines of 64 KiB`);
});

t.test('a batch that grows in the journal beyond what a start can read is refused', async (t) => {
  const store = await startStore(t);
  const { url } = await startServer(t, store);
  const append = (lines: readonly Buffer[]) =>
    fetch(`${url}/append`, {
      method: 'POST',
      headers: { authorization: `Bearer ${appendToken}` },
      body: new Uint8Array(gzipSync(Buffer.concat(lines))),
    });
  const [start = '', end = ''] = JSON.stringify(record('|', 1)).split('|');
  // Each of these bytes is no valid UTF-8 and becomes three.
  const line = Buffer.concat([Buffer.from(start), Buffer.alloc(256 * 1024, 0xff), Buffer.from(`${end}\n`)]);
  t.equal((await append(Array.from({ length: 100 }, () => line))).status, 413);
  t.equal((await append([Buffer.from(`${JSON.stringify(record('small', 1))}\n`)])).status, 204);
  t.same(await texts(store), ['small']);
});

t.test('a store starts beside an entry of its journal that it cannot read', async (t) => {
  const folder = ownFolder(t);
  const entry = (content: Buffer) => {
    const data = zstdCompressSync(content);
    const header = Buffer.alloc(16);
    header.writeUInt32LE(0x4a4c5653, 0);
    header.writeUInt32LE(crc32(data), 4);
    header.writeUInt32LE(data.length, 8);
    return Buffer.concat([header, data]);
  };
  const good = (line: string, first: number) =>
    entry(Buffer.from(JSON.stringify({ first, records: [record(line, first)] })));
  const large = entry(Buffer.alloc(257 * 1024 * 1024, 'x'));
  await writeFile(
    join(folder, `journal-${Date.now() + 60_000}`),
    Buffer.concat([good('one', 1), large, good('two', 2)]),
  );
  const recorded = recordingLog();
  const store = await startStore(t, { folder, log: recorded.log });
  t.same(await texts(store), ['one', 'two']);
  t.match(recorded.text(), /a batch in a journal is unreadable/);
});

t.test('a search that finds nothing for long is answered at once', async (t) => {
  const hold = Promise.withResolvers<undefined>();
  const store = answering(await startStore(t), async function* () {
    await hold.promise;
    yield [{ ...record('late', 1), id: 1 }];
    return undefined;
  });
  const { client } = await startServer(t, store);
  const { batches } = await client.read(everything, new AbortController().signal);
  hold.resolve(undefined);
  t.match((await batches.next()).value, [{ line: 'late' }]);
  t.equal((await batches.next()).done, true);
});

t.test('a client that takes its lines slowly gets all of them, and keeps no place meanwhile', async (t) => {
  const store = await startStore(t);
  const lines = Array.from({ length: 200 }, (_, index) => record(`${index} ${long}`, index));
  for (let first = 0; first < lines.length; first += 50) {
    await store.append({ records: lines.slice(first, first + 50) });
  }
  const { client, url } = await startServer(t, store, { limits: { bytes: 1e9, ms: 100 } });
  // They have all places, and their connections are full.
  const sockets = Array.from({ length: 10 }, (_, index) => {
    const query = queryParameters({ ...everything, reader: `slow-${index}` }).toString();
    const socket = connect(Number(new URL(url).port), '127.0.0.1');
    t.teardown(() => socket.destroy());
    socket.pause();
    socket.write(`GET /read?${query} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${readToken}\r\n\r\n`);
    return socket;
  });
  await Promise.all(sockets.map((socket) => once(socket, 'connect')));
  t.equal((await texts(client, { reader: 'other', limit: 1 })).length, 1, 'others are served');

  const { batches } = await client.read({ ...everything, reader: 'late' }, new AbortController().signal);
  const read: string[] = [];
  for await (const batch of batches) {
    read.push(...batch.map(({ line }) => line));
    await systemClock.sleep(read.length < 20 ? 150 : 0);
  }
  t.same(
    read,
    lines.map(({ line }) => line),
  );
});

t.test(
  'a search has few bytes of work until others have their turn, and finds what it would find at once',
  async (t) => {
    const store = await startStore(t, { flushLength: 1 });
    const seed = testSeed();
    const random = seededRandom(seed);
    const records: LogRecord[] = [];
    for (let batch = 0; batch < 40; batch++) {
      const from = random.between(0, 4 * 3_600_000);
      const lines = Array.from({ length: random.between(1, 40) }, () =>
        record(`${random.next()} ${random.chance(0.05) ? 'rare' : 'often'}`, from + random.between(0, 60_000)),
      );
      records.push(...lines);
      await store.append({ records: lines });
    }
    const answers: number[] = [];
    const counted: LogStore = {
      ...store,
      read(query, signal, budget) {
        let spent = 0;
        answers.push(0);
        const index = answers.length - 1;
        return store.read(query, signal, {
          isSpent: () => budget?.isSpent() ?? false,
          spend(bytes) {
            spent += bytes;
            answers[index] = spent;
            budget?.spend(bytes);
          },
        });
      },
    };
    const { client } = await startServer(t, counted, { limits: { bytes: 1, ms: 60_000 } });
    for (const direction of ['forward', 'backward'] as const) {
      for (const query of [{}, { search: 'rare' }, { search: 'absent' }, { level: 'error' as const }, { limit: 7 }]) {
        answers.length = 0;
        const expected = await texts(store, { direction, ...query });
        t.same(await texts(client, { direction, ...query }), expected, `seed ${seed}: ${JSON.stringify(query)}`);
        if ('limit' in query) continue;
        t.ok(answers.length > 3, `${answers.length} answers`);
        // A few blocks are read ahead.
        t.ok(Math.max(...answers) < 1_000_000, `${Math.max(...answers)} bytes`);
      }
    }
    t.equal((await texts(client)).length, records.length);
  },
);

t.test('a stream whose client takes nothing leaves its place when its time is over', async (t) => {
  const [began, ended] = [Promise.withResolvers<undefined>(), Promise.withResolvers<undefined>()];
  const clock: Clock = { ...systemClock, sleep: (ms, signal) => systemClock.sleep(ms / 1_000, signal) };
  const endless = async function* () {
    began.resolve(undefined);
    try {
      for (;;) yield await Promise.resolve({ line: long });
    } finally {
      ended.resolve(undefined);
    }
  };
  const time = new AbortController();
  const { body } = streamReply(clock, time.signal, endless);
  // Nobody reads what this takes.
  body.pipe(new PassThrough());
  await began.promise;
  time.abort(new Error('the time is over'));
  await ended.promise;
  t.ok(body.destroyed);
});
