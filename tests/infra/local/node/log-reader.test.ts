import { readFileSync } from 'node:fs';
import t, { type Test } from 'tap';
import { readLog, type LogOptions } from '../../../../infra/local/node/log-reader.ts';
import { createLogWatch } from '../../../../infra/local/node/log-watch.ts';
import { createLogWriter } from '../../../../infra/local/node/logs.ts';
import { systemClock } from '../../../../runtime/domain/clock.ts';

function world(t: Test, maxBytes?: number) {
  const folder = t.testdir({});
  const watch = createLogWatch();
  const writer = createLogWriter({
    folder,
    restartCount: 0,
    clock: systemClock,
    watch,
    ...(maxBytes !== undefined && { maxBytes }),
  });
  const print = (...lines: string[]) => writer.write('stdout', Buffer.from(lines.map((line) => `${line}\n`).join('')));
  const open = (options: LogOptions, signal = new AbortController().signal) =>
    readLog(folder, options, { clock: systemClock, signal, watch });
  const read = async (options: LogOptions = {}) => {
    let text = '';
    for await (const piece of open(options)) text += piece;
    return text.split('\n').slice(0, -1);
  };
  return { writer, print, open, read };
}

/** Bytes that this process has read, of files and everything else. */
const bytesRead = () => Number(/^rchar: (\d+)$/m.exec(readFileSync('/proc/self/io', 'utf8'))?.[1]);

/** Reads from a followed log until it has shown a line. */
async function seen(log: AsyncIterator<string>, line: string): Promise<void> {
  let text = '';
  while (!text.includes(`${line}\n`)) {
    const next = await log.next();
    if (next.done) throw new Error(`the log ended before ${line}`);
    text += next.value;
  }
}

t.test('followers of a large log read only what is appended', async (t) => {
  const { writer, print, open } = world(t);
  const filler = 'x'.repeat(1000);
  for (let lines = 0; lines < 8_000; lines += 100) print(...Array.from({ length: 100 }, () => filler));
  const followers = [1, 2, 3].map(() => open({ follow: true, tailLines: 1 }));
  for (const follower of followers) await seen(follower, filler);
  const before = bytesRead();
  for (let round = 0; round < 10; round++) {
    print(`line ${round}`);
    await Promise.all(followers.map((follower) => seen(follower, `line ${round}`)));
  }
  // A follower that looks at its log while nothing is written would read it now.
  const waiting = followers.map((follower) => follower.next());
  await systemClock.sleep(500);
  t.ok(bytesRead() - before < 1_000_000, 'less than an eighth of the log');
  writer.close();
  t.same(
    (await Promise.all(waiting)).map(({ done }) => done),
    [true, true, true],
    'they end with the log',
  );
});

t.test('a follower gets each line once, through rotations, also when it was slow', async (t) => {
  const { writer, print, open } = world(t, 2_000);
  print('first');
  const follower = open({ follow: true });
  const lines: string[] = [];
  const take = async () => {
    const { value, done } = await follower.next();
    if (done !== true) lines.push(...value.split('\n').slice(0, -1));
    return done !== true;
  };
  await take();
  const printed = Array.from({ length: 200 }, (_, n) => `line ${n}`);
  for (const [n, line] of printed.entries()) {
    print(line);
    // About one rotation in 50 lines.
    if (n % 40 === 39) await take();
  }
  writer.close();
  while (await take());
  t.same(lines, ['first', ...printed]);
});

t.test('two rotations since the last reading leave out no newer file', async (t) => {
  const { writer, print, open } = world(t, 100);
  print('first');
  const follower = open({ follow: true });
  await follower.next();
  for (const name of ['a', 'b', 'c']) print(name.repeat(100));
  writer.close();
  let rest = '';
  for await (const piece of follower) rest += piece;
  t.match(rest, /c{100}\n$/);
  t.notMatch(rest, 'first');
});

t.test('the last lines are found across files and chunks', async (t) => {
  const { writer, print, read } = world(t, 150_000);
  const printed = Array.from({ length: 50 }, (_, n) => `${n} ${'x'.repeat(n % 7 === 0 ? 70_000 : 20)}`);
  for (const line of printed) print(line);
  t.same(await read({ tailLines: 0 }), []);
  const all = await read();
  t.ok(all.length > 1 && all.length < printed.length, 'the oldest file is gone');
  for (let tailLines = 1; tailLines < all.length + 2; tailLines++) {
    t.ok(JSON.stringify(await read({ tailLines })) === JSON.stringify(printed.slice(-Math.min(tailLines, all.length))));
  }
  writer.close();
});

t.test('a reader that leaves while nothing is written leaves nothing behind', async (t) => {
  const { writer, print, open } = world(t);
  const leave = new AbortController();
  print('one');
  const follower = open({ follow: true }, leave.signal);
  await follower.next();
  const ended = follower.next();
  leave.abort();
  t.equal((await ended).done, true);
  writer.close();
});
