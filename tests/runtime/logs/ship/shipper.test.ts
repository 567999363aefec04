import {
  appendFileSync,
  createReadStream,
  createWriteStream,
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import t, { type Test } from 'tap';
import type { Shipper, ShipperOptions } from '../../../../runtime/logs/ship/shipper.ts';
import {
  createLogNode,
  criLine,
  metricOf,
  startRecordingStore,
  startShipper,
  writeLines,
} from '../../../support/log-shipping.ts';
import { eventually } from '../../../support/platform.ts';

const numbered = (text: string, count: number, first = 0) =>
  Array.from({ length: count }, (_, index) => `${text} ${first + index}`);

async function setUp(t: Test) {
  // Deleted after the shipper has stopped, which writes to it.
  const folder = mkdtempSync(join(tmpdir(), 'svc-test-shipper-'));
  const node = createLogNode(folder);
  const store = await startRecordingStore();
  const running = new Set<Shipper>();
  t.teardown(async () => {
    for (const shipper of running) await shipper.stop();
    await store.close();
    rmSync(folder, { recursive: true });
  });
  return {
    node,
    store,
    start: (options: Partial<ShipperOptions> = {}) => {
      const shipper = startShipper(folder, node, store, options);
      running.add(shipper);
      return shipper;
    },
    stop: async (shipper: Shipper) => {
      running.delete(shipper);
      await shipper.stop();
    },
    /** Waits until the store has this many lines. */
    stored: (count: number) =>
      eventually(
        () => Promise.resolve(store.records.length),
        (length) => length >= count,
      ),
  };
}

async function compress(path: string): Promise<void> {
  await pipeline(createReadStream(path), createGzip(), createWriteStream(`${path}.tmp`));
  renameSync(`${path}.tmp`, `${path}.gz`);
  rmSync(path);
}

t.test('what a generic pod prints once it is a pod of a function is stored for the function', async (t) => {
  const { node, store, start, stored } = await setUp(t);
  const generic = { 'app.kubernetes.io/managed-by': 'kipper', 'platform.svc/kind': 'Function' };
  const folder = node.addPod('shop-prod', 'svc-warm-1', { ...generic, 'platform.svc/warm': '0123456789ab' });
  let lists = 0;
  const list = () => {
    lists++;
    return Promise.resolve([...node.pods]);
  };
  start({ source: { list } });
  const other = node.addPod('shop-prod', 'api-1');
  writeLines(other, ['from an app']);
  await stored(1);
  const before = lists;
  await new Promise((resolve) => setTimeout(resolve, 200));
  t.equal(lists, before, 'the pod is not asked for again while it prints nothing');
  const pod = node.pods.find(({ name }) => name === 'svc-warm-1');
  if (pod) pod.labels = { ...generic, app: 'hello' };
  writeLines(folder, ['from the function']);
  await stored(2);
  t.match(store.records[1], { line: 'from the function', workload: { kind: 'function', name: 'hello' } });
});

t.test('lines arrive as records with the workload of the pod', async (t) => {
  const { node, store, start, stored } = await setUp(t);
  const folder = node.addPod('shop-prod', 'api-1', {
    'app.kubernetes.io/managed-by': 'kipper',
    'platform.svc/kind': 'Function',
    app: 'api',
  });
  appendFileSync(join(folder, '0.log'), '2026-01-02T04:04:05.5+01:00 stderr F broken "pipe"\n');
  start();
  await stored(1);
  t.strictSame(store.records, [
    {
      namespace: 'shop-prod',
      pod: 'api-1',
      workload: { kind: 'function', name: 'api' },
      container: 'app',
      time: '2026-01-02T03:04:05.500000000Z',
      stream: 'stderr',
      line: 'broken "pipe"',
    },
  ]);
  t.match(store.requests[0]?.headers, { 'x-svc-shipper': 'node-1', 'content-encoding': 'gzip' });
});

t.test('the memory of batches is freed after every 4 MiB of lines, and not between', async (t) => {
  const { node, start, stored } = await setUp(t);
  const folder = node.addPod('shop-prod', 'api-1');
  let collections = 0;
  start({ collectGarbage: () => (collections += 1) });
  const line = 'x'.repeat(10_000);
  writeLines(folder, Array<string>(100).fill(line));
  await stored(100);
  t.equal(collections, 0);
  writeLines(folder, Array<string>(400).fill(line));
  await stored(500);
  t.equal(collections, 1);
});

t.test('only pods of the platform and of its environments are shipped', async (t) => {
  const { node, store, start, stored } = await setUp(t);
  const system = node.addPod('svc-system', 'console-api-1', {
    'app.kubernetes.io/managed-by': 'kipper',
    app: 'console-api',
  });
  const build = node.addPod('svc-builds', 'build-1', { 'app.kubernetes.io/managed-by': 'kipper', app: 'api' });
  const foreign = node.addPod('kube-system', 'dns-1', { app: 'dns' });
  const unlisted = node.addPod('shop-prod', 'gone-1');
  node.pods.pop();
  for (const folder of [build, foreign, unlisted]) writeLines(folder, ['secret']);
  writeLines(system, ['started']);
  start();
  await stored(1);
  writeLines(system, ['again']);
  await stored(2);
  t.strictSame(store.lines(), ['started', 'again']);
  t.strictSame(store.records[0]?.workload, { kind: 'platform', name: 'console-api' });
});

t.test('partial lines are joined for each stream', async (t) => {
  const { node, store, start, stored } = await setUp(t);
  const folder = node.addPod('shop-prod', 'api-1');
  const euro = Buffer.from('€');
  appendFileSync(
    join(folder, '0.log'),
    Buffer.concat([
      Buffer.from(criLine('one ', { tag: 'P' })),
      Buffer.from(criLine('other ', { tag: 'P', stream: 'stderr' })),
      // A character that the runtime has cut in two.
      Buffer.from('2026-01-02T03:04:05Z stdout P '),
      euro.subarray(0, 1),
      Buffer.from('\n2026-01-02T03:04:05Z stdout F '),
      euro.subarray(1),
      Buffer.from('\n'),
    ]),
  );
  start();
  await stored(1);
  appendFileSync(join(folder, '0.log'), criLine('line', { stream: 'stderr' }));
  await stored(2);
  t.strictSame(store.lines(), ['one €', 'other line']);
});

t.test('a rotation, compression and a restart of the container lose and double nothing', async (t) => {
  const { node, store, start, stored } = await setUp(t);
  const folder = node.addPod('shop-prod', 'api-1');
  writeLines(folder, numbered('a', 10));
  start();
  await stored(10);
  renameSync(join(folder, '0.log'), join(folder, '0.log.20260102-030405'));
  // The runtime writes to the old file until it is told of the new one.
  writeLines(folder, numbered('b', 5), '0.log.20260102-030405');
  writeLines(folder, numbered('c', 5));
  await stored(20);
  await compress(join(folder, '0.log.20260102-030405'));
  renameSync(join(folder, '0.log'), join(folder, '0.log.20260102-040405'));
  writeLines(folder, numbered('d', 5));
  writeLines(folder, numbered('e', 5), '1.log');
  await stored(30);
  t.strictSame(store.lines().toSorted(), [
    ...numbered('a', 10),
    ...numbered('b', 5),
    ...numbered('c', 5),
    ...numbered('d', 5),
    ...numbered('e', 5),
  ]);
});

t.test('a restart of the shipper continues where it was, also in files that were rotated meanwhile', async (t) => {
  const { node, store, start, stop, stored } = await setUp(t);
  const folder = node.addPod('shop-prod', 'api-1');
  writeLines(folder, numbered('a', 10));
  const first = start();
  await stored(10);
  await stop(first);
  writeLines(folder, numbered('b', 10));
  renameSync(join(folder, '0.log'), join(folder, '0.log.20260102-030405'));
  await compress(join(folder, '0.log.20260102-030405'));
  writeLines(folder, numbered('c', 10));
  renameSync(join(folder, '0.log'), join(folder, '0.log.20260102-040405'));
  writeLines(folder, numbered('d', 10));
  const second = start();
  await stored(40);
  writeLines(folder, ['last']);
  await stored(41);
  t.strictSame(store.lines(), [
    ...numbered('a', 10),
    ...numbered('b', 10),
    ...numbered('c', 10),
    ...numbered('d', 10),
    'last',
  ]);
  t.equal(metricOf(second, 'svc_log_shipper_lost_files_total{namespace="shop-prod"}'), 0);
});

t.test('an incomplete line survives a restart', async (t) => {
  const { node, store, start, stop, stored } = await setUp(t);
  const folder = node.addPod('shop-prod', 'api-1');
  appendFileSync(join(folder, '0.log'), criLine('before') + criLine('begin ', { tag: 'P' }));
  const first = start();
  await stored(1);
  await stop(first);
  appendFileSync(join(folder, '0.log'), criLine('end'));
  start();
  await stored(2);
  t.strictSame(store.lines(), ['before', 'begin end']);
});

t.test('the last lines of a deleted pod arrive', async (t) => {
  const { node, start, stored } = await setUp(t);
  const folder = node.addPod('shop-prod', 'api-1');
  writeLines(folder, ['first']);
  const shipper = start();
  await stored(1);
  writeLines(folder, numbered('last', 100));
  rmSync(node.podFolder('shop-prod', 'api-1'), { recursive: true });
  await stored(101);
  await eventually(
    () => Promise.resolve(metricOf(shipper, 'svc_log_shipper_containers')),
    (containers) => containers === 0,
  );
});

t.test('a request whose answer was lost is not stored twice, even over a restart', async (t) => {
  const { node, store, start, stop, stored } = await setUp(t);
  const folder = node.addPod('shop-prod', 'api-1');
  writeLines(folder, numbered('a', 10));
  store.answer = () => 'lose';
  const first = start();
  await stored(10);
  await stop(first);
  store.answer = () => ({ status: 204 });
  writeLines(folder, numbered('b', 10));
  start();
  await stored(20);
  t.strictSame(store.lines(), [...numbered('a', 10), ...numbered('b', 10)]);
});

t.test('while the store is down, lines wait on disk, and a restart keeps them', async (t) => {
  const { node, store, start, stop, stored } = await setUp(t);
  const folder = node.addPod('shop-prod', 'api-1');
  store.answer = () => ({ status: 503, headers: { 'retry-after': '1' } });
  const first = start();
  writeLines(folder, numbered('a', 1000));
  await eventually(
    () => Promise.resolve(metricOf(first, 'svc_log_shipper_spool_lines')),
    (lines) => lines === 1000,
  );
  await stop(first);
  rmSync(node.podFolder('shop-prod', 'api-1'), { recursive: true });
  store.answer = () => ({ status: 204 });
  start();
  await stored(1000);
  t.strictSame(store.lines(), numbered('a', 1000));
});

t.test('a full spool drops the oldest lines of the namespace that takes most, and counts them exactly', async (t) => {
  const { node, store, start, stop, stored } = await setUp(t);
  const loud = node.addPod('loud-prod', 'api-1');
  const quiet = node.addPod('quiet-prod', 'api-1');
  store.answer = () => ({ status: 429 });
  const shipper = start({ spoolBytes: 256 * 1024 });
  writeLines(quiet, numbered('quiet', 5));
  const noise = () => Buffer.from(crypto.getRandomValues(new Uint8Array(600))).toString('base64');
  let printed = 0;
  const dropped = (of: Shipper) =>
    metricOf(of, 'svc_log_shipper_dropped_lines_total{namespace="loud-prod",reason="spool_full"}');
  await eventually(
    () => {
      writeLines(loud, Array.from({ length: 200 }, noise));
      printed += 200;
      return Promise.resolve(dropped(shipper));
    },
    (lines) => lines > 0,
  );
  await stop(shipper);
  store.answer = () => ({ status: 204 });
  const second = start({ spoolBytes: 256 * 1024 });
  await eventually(
    () => Promise.resolve(store.lines('loud-prod').length + dropped(second)),
    (lines) => lines === printed,
  );
  await stored(5);
  t.strictSame(store.lines('quiet-prod'), numbered('quiet', 5));
  t.ok(dropped(second) > 0);
});

t.test('pods are found once the API server answers again', async (t) => {
  const { node, store, start, stored } = await setUp(t);
  const folder = node.addPod('shop-prod', 'api-1');
  writeLines(folder, numbered('a', 10));
  let failing = true;
  start({
    source: {
      list: () => (failing ? Promise.reject(new Error('the API server is away')) : Promise.resolve(node.pods)),
    },
    log: (_level, _msg, { reason } = {}) => {
      if (String(reason).includes('away')) failing = false;
    },
  });
  await stored(10);
  t.strictSame(store.lines(), numbered('a', 10));
});

t.test('a state that cannot be read starts again with higher numbers, so that the store ignores nothing', async (t) => {
  const { node, store, start, stop, stored } = await setUp(t);
  const folder = node.addPod('shop-prod', 'api-1');
  writeLines(folder, ['a']);
  const first = start();
  await stored(1);
  await stop(first);
  const state = join(node.logs, '..', 'state');
  rmSync(state, { recursive: true });
  mkdirSync(state);
  writeFileSync(join(state, 'state.json'), '{"version":');
  start();
  await stored(2);
  t.strictSame(store.lines(), ['a', 'a']);
});
