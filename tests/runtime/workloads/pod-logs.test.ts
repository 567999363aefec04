import { isDeepStrictEqual } from 'node:util';
import t from 'tap';
import { newId } from '../../../runtime/domain/ids.ts';
import { readBuildLog } from '../../../runtime/workloads/build-log.ts';
import { readLog, readLogTail } from '../../../runtime/workloads/pod-logs.ts';
import { KubeError, type KubeClient } from '../../../runtime/kube/kube-client.ts';
import { boundedLog, buildLogMaxBytes } from '../../../runtime/records/build-logs.ts';
import { fakeKube, saying } from '../../support/fake-kube.ts';

const read = (stream: KubeClient['stream'], maxBytes = 1000) =>
  readLog({ stream }, 'svc-builds', 'build-x', new URLSearchParams({ tailLines: '5' }), maxBytes);

t.test('a container without a log, or whose log was deleted, has none', async (t) => {
  t.equal(await read(saying(() => 'unable to retrieve container logs for containerd://d3fca414c457ada2\n')), undefined);
  t.same(await read(saying(() => 'one\nunable to retrieve container logs for containerd://d3\n')), {
    text: 'one\nunable to retrieve container logs for containerd://d3\n',
    truncated: false,
  });
  for (const status of [400, 404]) {
    t.equal(await read(saying(() => Promise.reject(new KubeError(status, '', '')))), undefined);
  }
  await t.rejects(read(saying(() => Promise.reject(new Error('no connection')))));
});

t.test('only the end of a long log is read, starting at a line', async (t) => {
  const requests: string[] = [];
  const inChunks = (log: string, size: number): KubeClient['stream'] =>
    async function* (path) {
      requests.push(path);
      const bytes = Buffer.from(log);
      for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
    };
  const cases: [said: string, maxBytes: number, text: string][] = [
    ['one\ntwo\nthree\n', 10, 'two\nthree\n'],
    ['one\ntwo\nthree\n', 9, 'three\n'],
    ['one\ntwo\nthree\n', 14, 'one\ntwo\nthree\n'],
    ['the first line\nthe error', 12, 'the error'],
    ['one line that is longer\n', 8, ' longer\n'],
    ['äöü', 3, 'ü'],
  ];
  for (const [log, maxBytes, text] of cases) {
    for (const size of [1, 5, 100]) {
      t.same(await read(inChunks(log, size), maxBytes), { text, truncated: text !== log }, `${text} by ${size}`);
    }
  }
  t.notMatch(requests[0], 'limitBytes', 'which would keep the beginning');
});

t.test('the last lines are whole, though the kubelet counts the parts of long ones', async (t) => {
  const long = (name: string) => `${name}${'x'.repeat(40_000)}`;
  const partsOf = (line: string) => line.match(/.{1,16384}/g) ?? [];
  /** As a kubelet: `tailLines` are parts, and the parts of a line are joined. */
  const kubelet = (lines: readonly string[]): KubeClient['stream'] =>
    async function* (path) {
      const parts = lines.flatMap((line) =>
        partsOf(line).map((text, at, all) => ({ text, isLast: at === all.length - 1 })),
      );
      const tail = Number(new URLSearchParams(path.split('?')[1]).get('tailLines') ?? Infinity);
      yield Buffer.from(
        parts
          .slice(-tail)
          .map(({ text, isLast }) => `${text}${isLast ? '\n' : ''}`)
          .join(''),
      );
    };
  const lastOf = async (lines: readonly string[], tail: number) => {
    const log = await readLogTail({ stream: kubelet(lines) }, 'shop-prod', 'api-1', new URLSearchParams(), tail);
    return log?.text.split('\n').filter(Boolean).slice(-tail);
  };
  const short = ['one', 'two', 'three'];
  const mixed = ['one', long('two'), 'three', long('four')];
  for (const lines of [short, mixed, mixed.map(long), [long('only')]]) {
    for (const tail of [1, 2, 3, 9])
      t.ok(isDeepStrictEqual(await lastOf(lines, tail), lines.slice(-tail)), `last ${tail}`);
  }
});

t.test('the log of a verbose build is its end, without the part before a gap', async (t) => {
  const kube = fakeKube();
  const id = newId();
  kube.seed({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: 'build-x',
      namespace: 'svc-builds',
      labels: { 'platform.svc/id': id, 'platform.svc/role': 'build' },
    },
    spec: { initContainers: [{ name: 'clone' }], containers: [{ name: 'build' }] },
  });
  let built = 'step 1\n';
  kube.stream = saying((path) => (path.includes('container=clone') ? 'fetched\n' : built));
  t.same(await readBuildLog(kube, id), { text: 'fetched\nstep 1\n', truncated: false });
  built = `${'x'.repeat(99)}\n`.repeat(60_000) + 'error: no such file\n';
  const log = await readBuildLog(kube, id);
  t.match(log?.text, /^x{99}\n[^]*\nerror: no such file\n$/);
  t.equal(log?.truncated, true);
  built = `${'x'.repeat(2 * buildLogMaxBytes)}\nerror: no such file\n`;
  t.same(await readBuildLog(kube, id), { text: 'error: no such file\n', truncated: true });
});

t.test('a stored log contains only characters that can be stored', (t) => {
  t.same(boundedLog('a\0b\n'), { text: 'ab\n', truncated: false });
  const { text, truncated } = boundedLog(`${'x'.repeat(buildLogMaxBytes)}\n`);
  t.same({ length: text.length, truncated }, { length: buildLogMaxBytes, truncated: true });
  t.end();
});
