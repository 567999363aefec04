import t from 'tap';
import { newId } from '../../../runtime/domain/ids.ts';
import { readBuildLog } from '../../../runtime/workloads/build-log.ts';
import { readLog } from '../../../runtime/workloads/pod-logs.ts';
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
