import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import t from 'tap';
import { ownFolder } from '../../support/own-folder.ts';
import { seededRandom } from '../../support/random.ts';
import { soakFactor, testSeed } from '../../support/soak.ts';
import { feedAll, startStore, texts } from './rig.ts';

const seed = testSeed();

t.test(`a store that is killed loses no acknowledged line and doubles none (SVC_SEED=${seed})`, async (t) => {
  const random = seededRandom(seed);
  const folder = ownFolder(t);
  let acknowledged = 0;
  const first = await startStore(t, { folder });
  const { position } = await feedAll(first, undefined);
  await first.stop();
  for (let round = 0; round < 6 * soakFactor(); round++) {
    // The batch after the last acknowledged one may be stored, too; it is sent again, as a shipper does.
    const child = spawn(
      process.execPath,
      [join(import.meta.dirname, 'appender-process.ts'), folder, String(acknowledged + 1)],
      { stdio: ['ignore', 'pipe', 'inherit'] },
    );
    const closed = once(child, 'close');
    const until = acknowledged + random.between(1, 120);
    for await (const line of createInterface({ input: child.stdout })) {
      if (line !== 'started') acknowledged = Number(line);
      if (acknowledged >= until) child.kill('SIGKILL');
    }
    await closed;
  }
  const store = await startStore(t, { folder });
  for (const name of ['api-0', 'api-1', 'api-2']) {
    const lines = await texts(store, { name });
    const expected = Array.from({ length: acknowledged }, (_, index) =>
      Array.from({ length: 5 }, (__, part) => `${index + 1}-${part}`),
    ).flat();
    t.same(lines.slice(0, expected.length), expected);
    t.ok(lines.length <= expected.length + 5, 'at most one batch more');
    t.equal(new Set(lines).size, lines.length);
  }
  // The same lines, in the order in which they were accepted.
  const { lines, missed } = await feedAll(store, position);
  t.equal(missed, 0);
  for (const name of ['api-0', 'api-1', 'api-2']) {
    const own = lines.filter(({ workload }) => workload.name === name).toSorted((a, b) => a.id - b.id);
    t.same(
      own.map(({ line }) => line),
      await texts(store, { name }),
    );
  }
});
