import { once } from 'node:events';
import { connect } from 'node:net';
import t from 'tap';
import type { LogStore } from '../../runtime/logs/log-store.ts';
import { queryParameters } from '../../runtime/logs/query.ts';
import type { StoredLine } from '../../runtime/logs/record.ts';
import { everything, readToken, record, startServer, startStore } from '../runtime/logs/rig.ts';

/*
 * The log store keeps and reads the lines of every tenant in one process. Long lines, and clients that take them slowly or
 * ask for many, must not cost its memory or the places of others.
 */

const long = 'x'.repeat(64 * 1024);

/** A store that answers every reading with these batches. */
const answering = (store: LogStore, batches: (signal: AbortSignal) => AsyncGenerator<StoredLine[]>): LogStore => ({
  ...store,
  read: (_query, signal) => Promise.resolve({ keptSince: '', batches: batches(signal) }),
});

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
  });
  const { url } = await startServer(t, store);
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  t.teardown(() => socket.destroy());
  const query = queryParameters(everything).toString();
  socket.write(`GET /read?${query} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${readToken}\r\n\r\n`);
  await once(socket, 'readable');
  t.ok(texts > 0 && texts < 1_000, `${texts} lines of 64 KiB`);
});
