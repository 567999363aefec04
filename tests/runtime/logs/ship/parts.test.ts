import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import t from 'tap';
import { logWorkloadOf } from '../../../../runtime/logs/ship/pod-source.ts';
import { parseCriLine } from '../../../../runtime/logs/ship/cri-line.ts';
import { createLineJoiner, createPendingBudget, lineMaxBytes } from '../../../../runtime/logs/ship/line-joiner.ts';
import { parseLogFileName } from '../../../../runtime/logs/ship/log-file.ts';
import { createPendingRecords } from '../../../../runtime/logs/ship/pending-records.ts';
import { createSpool, type SpoolOptions } from '../../../../runtime/logs/ship/spool.ts';

const parse = (text: string) => {
  const line = parseCriLine(Buffer.from(text), 0, Buffer.byteLength(text));
  return line && { ...line, content: line.content.toString() };
};

t.test('lines of container runtimes are parsed, with their times in UTC', async (t) => {
  const time = '2026-01-02T03:04:05.123456789Z';
  t.strictSame(parse(`${time} stdout F hello world`), {
    time,
    stream: 'stdout',
    partial: false,
    content: 'hello world',
  });
  t.match(parse(`${time} stderr P half`), { stream: 'stderr', partial: true });
  t.match(parse(`${time} stdout F `), { content: '' });
  t.match(parse(`${time} stdout F`), { content: '' });
  t.match(parse(`${time} stdout P:more:tags text`), { partial: true, content: 'text' });
  t.equal(parse('2026-01-02T00:04:05.1-03:30 stdout F x')?.time, '2026-01-02T03:34:05.100000000Z');
  t.equal(parse('2026-01-01T23:59:59+00:00 stdout F x')?.time, '2026-01-01T23:59:59.000000000Z');
});

t.test('lines of any other form are not parsed', async (t) => {
  for (const text of [
    '',
    'panic: no time',
    '2026-01-02T03:04:05Z',
    '2026-01-02T03:04:05Z stdin F x',
    '2026-01-02T03:04:05Z stdoutF x',
    '2026-01-02T03:04:05Z stdout FF x',
    '2026-13-02T03:04:05Z stdout F x',
    '2026-01-02T25:04:05Z stdout F x',
    `${'9'.repeat(100_000)} stdout F x`,
    '\0'.repeat(64),
  ]) {
    t.equal(parse(text), undefined, text.slice(0, 40));
  }
});

t.test('files are ordered by restart and rotation, and others are ignored', async (t) => {
  const key = (name: string) => parseLogFileName(name)?.key ?? '';
  const names = ['0.log.20260101-000000.gz', '0.log.20260102-000000', '0.log', '1.log', '10.log'];
  t.strictSame(
    names.toSorted((a, b) => (key(a) < key(b) ? -1 : 1)),
    names,
  );
  for (const name of ['0.log.gz', '0.log.20260101-000000.tmp', 'app.log', '0.log.old', '../0.log', '-1.log']) {
    t.equal(parseLogFileName(name), undefined, name);
  }
});

t.test('a line is cut at its limit, between two characters', async (t) => {
  const joiner = createLineJoiner('a', createPendingBudget(1e6));
  const piece = Buffer.from('€'.repeat(10_000));
  const line = { time: '', stream: 'stdout', content: piece } as const;
  for (let index = 0; index < 9; index += 1) t.equal(joiner.add({ ...line, partial: true }, 0), undefined);
  const joined = joiner.add({ ...line, partial: false }, 0);
  const kept = Math.floor(lineMaxBytes / 3);
  t.equal(joined?.text, `${'€'.repeat(kept)} [cut after ${kept * 3} bytes]`);
  t.ok(joined?.cut);
});

t.test('incomplete lines of all containers together have a limit, and one namespace cannot take it all', async (t) => {
  const budget = createPendingBudget(256 * 1024);
  const piece = { time: '', stream: 'stdout', partial: true, content: Buffer.alloc(16 * 1024, 'x') } as const;
  const loud = Array.from({ length: 50 }, () => createLineJoiner('loud', budget));
  for (const joiner of loud) for (let index = 0; index < 10; index += 1) joiner.add(piece, 0);
  t.ok(budget.total <= budget.max / 4);
  const quiet = createLineJoiner('quiet', budget);
  quiet.add(piece, 0);
  t.equal(quiet.add({ ...piece, partial: false }, 0)?.text, 'x'.repeat(32 * 1024));
  // Lines that are never completed do not stay in memory.
  for (const joiner of loud) joiner.expire(20_000);
  t.equal(budget.total, 0);
  t.equal(budget.namespaces.size, 0);
});

t.test('records of many namespaces stay apart, also beyond the buffer', async (t) => {
  const pending = createPendingRecords(64, 40);
  for (let index = 0; index < 6; index += 1) {
    for (const namespace of ['a', 'b']) pending.add(namespace, `${namespace}${index} ${'€'.repeat(index)}\n`);
  }
  const text = (namespace: string) =>
    pending
      .parts()
      .filter((part) => part.namespace === namespace)
      .map((part) => part.text.toString())
      .join('');
  for (const namespace of ['a', 'b']) {
    const lines = Array.from({ length: 6 }, (_, index) => `${namespace}${index} ${'€'.repeat(index)}\n`);
    t.equal(text(namespace), lines.join(''));
  }
  t.ok(pending.parts().length > 2);
  pending.clear();
  t.strictSame(pending.parts(), []);
});

t.test('a spool that was interrupted continues with what was published', async (t) => {
  const folder = t.testdir();
  const dropped: [string, number][] = [];
  const open = (last: number, options: Partial<SpoolOptions> = {}) =>
    createSpool({ folder, maxBytes: 1e6, last, dropped: (...of) => dropped.push(of), now: () => 1, ...options });
  const content = (namespace: string, lines = 1) => ({ namespace, lines, raw: 10, content: gzipSync('{}\n') });
  const spool = open(0);
  spool.stage([content('a'), content('b')]);
  spool.publish();
  const [first] = spool.take(1e6);
  t.ok(first);
  // The process ends between the positions and the batches, and while a batch is replaced by its parts.
  spool.stage([content('c')]);
  const [, number = ''] = /^(\d+)/.exec(first?.id ?? '') ?? [];
  const original = readdirSync(folder).find((name) => name.startsWith(number)) ?? '';
  writeFileSync(join(folder, original.replace(number, `${number}aa`)), '');
  const second = open(2);
  t.strictSame(
    second.take(1e6).map(({ namespace }) => namespace),
    ['a', 'b'],
  );
  t.equal(readdirSync(folder).length, 2);
  // The disk had not stored all of a file.
  writeFileSync(join(folder, original), '');
  t.strictSame(
    open(2)
      .take(1e6)
      .map(({ namespace }) => namespace),
    ['b'],
  );
  t.strictSame(dropped, [['a', 1]]);
});

t.test('batches of all namespaces are taken in turn', async (t) => {
  const spool = createSpool({ folder: t.testdir(), maxBytes: 1e6, last: 0, dropped: () => {}, now: () => 1 });
  const content = (namespace: string) => ({ namespace, lines: 1, raw: 100, content: Buffer.from('x') });
  spool.stage([content('loud'), content('loud'), content('loud'), content('quiet')]);
  t.strictSame(spool.take(1e6), []);
  spool.publish();
  t.strictSame(
    spool.take(250).map(({ namespace }) => namespace),
    ['loud', 'quiet'],
  );
  t.strictSame(
    spool.take(1).map(({ namespace }) => namespace),
    ['loud'],
  );
});

t.test('pods that the platform does not manage have no workload', async (t) => {
  const pod = (namespace: string, labels: Record<string, string>) =>
    logWorkloadOf({ uid: '', name: 'p', namespace, labels });
  const managed = { 'app.kubernetes.io/managed-by': 'kipper' };
  t.strictSame(pod('shop-prod', { ...managed, app: 'api', 'platform.svc/kind': 'App' }), { kind: 'app', name: 'api' });
  t.strictSame(pod('svc-system', { ...managed, app: 'svc-authz' }), { kind: 'platform', name: 'svc-authz' });
  t.equal(pod('shop-prod', { app: 'api', 'platform.svc/kind': 'App' }), undefined);
  t.equal(pod('shop-prod', { ...managed, app: 'api', 'platform.svc/kind': '__proto__' }), undefined);
  t.equal(pod('shop-prod', { ...managed, app: '../etc', 'platform.svc/kind': 'App' }), undefined);
  t.equal(pod('svc-builds', { ...managed, app: 'api' }), undefined);
});
