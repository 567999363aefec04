import { appendFileSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { spawnSync } from 'node:child_process';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { lineMaxBytes } from '../../runtime/logs/ship/line-joiner.ts';
import type { Shipper } from '../../runtime/logs/ship/shipper.ts';
import { logWorkloadOf } from '../../runtime/logs/ship/pod-source.ts';
import {
  appLabels,
  createLogNode,
  criLine,
  metricOf,
  startRecordingStore,
  startShipper,
  writeLines,
} from '../support/log-shipping.ts';
import { eventually } from '../support/platform.ts';

/*
 * The log shipper reads what every tenant's containers print, and sends it in common requests. What one prints, or is refused,
 * must not cost the lines of another.
 */

async function setUp(t: Test) {
  // Deleted after the shipper has stopped, which writes to it.
  const folder = mkdtempSync(join(tmpdir(), 'svc-test-shipper-'));
  const running: Shipper[] = [];
  const node = createLogNode(folder);
  const store = await startRecordingStore();
  t.teardown(async () => {
    for (const shipper of running) await shipper.stop();
    await store.close();
    rmSync(folder, { recursive: true });
  });
  return {
    folder,
    node,
    store,
    start: (url = store.url) => {
      const shipper = startShipper(folder, node, { url });
      running.push(shipper);
      return shipper;
    },
    lineOf: (namespace: string, text: string) =>
      eventually(
        () => Promise.resolve(store.lines(namespace)),
        (lines) => lines.includes(text),
      ),
  };
}

t.test('a line without an end is cut, and what follows arrives', async (t) => {
  const { node, store, start, lineOf } = await setUp(t);
  const loud = node.addPod('loud-prod', 'api-1');
  const quiet = node.addPod('quiet-prod', 'api-1');
  const piece = criLine('x'.repeat(16 * 1024), { tag: 'P' });
  appendFileSync(join(loud, '0.log'), piece.repeat(200));
  // A runtime without a limit writes it as one line.
  appendFileSync(join(loud, '0.log'), `${criLine('end').slice(0, -1)}${'y'.repeat(3_000_000)}\n`);
  writeLines(loud, ['next']);
  writeLines(quiet, ['hello']);
  const shipper = start();
  await lineOf('quiet-prod', 'hello');
  await lineOf('loud-prod', 'next');
  const [long = ''] = store.lines('loud-prod');
  t.match(long, / \[cut after 65536 bytes\]$/);
  t.ok(long.length < lineMaxBytes + 100);
  t.equal(metricOf(shipper, 'svc_log_shipper_cut_lines_total{namespace="loud-prod"}'), 1);
});

t.test('odd bytes and lines that look like the log of another container stay text of their own', async (t) => {
  const { node, store, start, lineOf } = await setUp(t);
  const folder = node.addPod('shop-prod', 'api-1');
  const texts = [
    '2026-01-02T03:04:05.000000001Z stderr F imitation',
    '"},{"namespace":"other-prod","line":"x',
    '\u0000\u001b[31mred\u001b[0m\r',
    '\u2028\u{1f600}',
    '',
    '__proto__',
  ];
  writeLines(folder, texts);
  appendFileSync(
    join(folder, '0.log'),
    Buffer.concat([Buffer.from(criLine('').slice(0, -1)), Buffer.of(0xff, 0xc0, 10)]),
  );
  appendFileSync(join(folder, '0.log'), 'not of the runtime\n');
  writeLines(folder, ['last']);
  const shipper = start();
  await lineOf('shop-prod', 'last');
  t.strictSame(store.lines(), [...texts, '\ufffd\ufffd', 'last']);
  t.ok(store.records.every(({ namespace, stream }) => namespace === 'shop-prod' && stream === 'stdout'));
  t.equal(metricOf(shipper, 'svc_log_shipper_dropped_lines_total{namespace="shop-prod",reason="malformed"}'), 1);
});

t.test('links, pipes and folders in the place of logs are not read', async (t) => {
  const { folder, node, store, start, lineOf } = await setUp(t);
  const secret = join(folder, 'secret.log');
  writeFileSync(secret, criLine('secret'));
  const secrets = join(folder, 'secrets');
  mkdirSync(secrets);
  writeLines(secrets, ['secret']);
  const container = node.addPod('shop-prod', 'api-1');
  symlinkSync(secret, join(container, '0.log'));
  mkdirSync(join(container, '1.log'));
  t.equal(spawnSync('mkfifo', [join(container, '2.log')]).status, 0);
  symlinkSync(secrets, join(node.podFolder('shop-prod', 'api-1'), 'sidecar'));
  node.pods.push({ namespace: 'shop-prod', name: 'linked', uid: 'aaaaaaaa', labels: appLabels('linked') });
  symlinkSync(node.podFolder('shop-prod', 'api-1'), join(node.logs, 'shop-prod_linked_aaaaaaaa'));
  writeLines(container, ['real'], '3.log');
  start();
  await lineOf('shop-prod', 'real');
  t.strictSame(store.lines(), ['real']);
});

t.test('a namespace that prints without end does not delay the lines of another', async (t) => {
  const { node, store, start, lineOf } = await setUp(t);
  const loud = Array.from({ length: 5 }, (_, index) => node.addPod('loud-prod', `api-${index}`));
  const tiny = criLine('').repeat(60_000);
  for (const folder of loud) writeFileSync(join(folder, '0.log'), tiny);
  const quiet = node.addPod('quiet-prod', 'api-1');
  writeLines(quiet, ['hello']);
  start();
  await lineOf('quiet-prod', 'hello');
  t.ok(store.lines('loud-prod').length < 5 * 60_000);
});

t.test('lines that the store refuses cost no other namespace, workload or line', async (t) => {
  const { node, store, start, lineOf } = await setUp(t);
  store.answer = ({ records }) => ({ status: records.some(({ line }) => line.startsWith('bad')) ? 400 : 204 });
  const evil = node.addPod('evil-prod', 'api-1');
  const good = node.addPod('evil-prod', 'worker-1');
  const other = node.addPod('shop-prod', 'api-1');
  writeLines(evil, ['one', 'bad 1', 'two', 'three', 'bad 2', 'four']);
  writeLines(good, ['five']);
  writeLines(other, ['six']);
  const shipper = start();
  await lineOf('shop-prod', 'six');
  await lineOf('evil-prod', 'five');
  await lineOf('evil-prod', 'four');
  await eventually(
    () =>
      Promise.resolve(metricOf(shipper, 'svc_log_shipper_dropped_lines_total{namespace="evil-prod",reason="refused"}')),
    (lines) => lines === 2,
  );
  t.strictSame(store.lines('evil-prod').toSorted(), ['five', 'four', 'one', 'three', 'two']);
});

t.test('a tenant whose lines are all refused causes a bounded number of requests', async (t) => {
  const { node, store, start, lineOf } = await setUp(t);
  store.answer = ({ records }) => ({ status: records.some(({ namespace }) => namespace === 'evil-prod') ? 413 : 204 });
  const evil = node.addPod('evil-prod', 'api-1');
  const count = 3_000;
  writeLines(
    evil,
    Array.from({ length: count }, (_, index) => `line ${index}`),
  );
  const shipper = start();
  await eventually(
    () =>
      Promise.resolve(metricOf(shipper, 'svc_log_shipper_dropped_lines_total{namespace="evil-prod",reason="refused"}')),
    (lines) => lines === count,
  );
  writeLines(node.addPod('shop-prod', 'api-1'), ['after']);
  await lineOf('shop-prod', 'after');
  t.ok(store.requests.length < 500, `${store.requests.length} requests`);
});

t.test('an answer without an end, a redirect and a hang-up are failures, and the lines are sent again', async (t) => {
  const { node, store, start, lineOf } = await setUp(t);
  const answers = ['endless', 'redirect', 'hang up'];
  const proxy = createServer((request, response) => {
    request.resume();
    const answer = answers.shift();
    if (answer === 'endless') {
      response.writeHead(204);
      response.socket?.write('x'.repeat(1_000_000));
      response.destroy();
    } else if (answer === 'hang up') response.destroy();
    else if (answer === 'redirect') response.writeHead(307, { Location: `${store.url}/append` }).end();
    else response.writeHead(503, { 'Retry-After': '99999999' }).end();
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  t.teardown(() => {
    proxy.closeAllConnections();
    proxy.close();
  });
  const folder = node.addPod('shop-prod', 'api-1');
  writeLines(folder, ['hello']);
  const shipper = start(`http://127.0.0.1:${(proxy.address() as AddressInfo).port}`);
  await eventually(
    () => Promise.resolve(answers.length),
    (left) => left === 0,
  );
  t.strictSame(store.records, []);
  t.equal(metricOf(shipper, 'svc_log_shipper_spool_lines'), 1);
  await shipper.stop();
  start();
  await lineOf('shop-prod', 'hello');
});

t.test('labels of a pod in an environment cannot make it a part of the platform', async (t) => {
  const labels = { ...appLabels('svc-authz'), 'platform.svc/kind': 'platform' };
  t.equal(logWorkloadOf({ uid: '', namespace: 'shop-prod', name: 'api', labels }), undefined);
});
