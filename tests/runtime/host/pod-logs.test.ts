import t from 'tap';
import { readLog } from '../../../runtime/host/pod-logs.ts';
import { KubeError } from '../../../runtime/kube/kube-client.ts';

const read = (text: () => Promise<string>) => readLog({ text }, 'svc-builds', 'build-x', new URLSearchParams());

t.test('a container that has no log, or none any more, has none', async (t) => {
  t.equal(await read(async () => 'unable to retrieve container logs for containerd://d3fca414c457ada2\n'), undefined);
  t.equal(
    await read(async () => 'one\nunable to retrieve container logs for containerd://d3\n'),
    'one\nunable to retrieve container logs for containerd://d3\n',
  );
  for (const status of [400, 404]) {
    t.equal(await read(() => Promise.reject(new KubeError(status, '', ''))), undefined);
  }
  await t.rejects(read(() => Promise.reject(new Error('no connection'))));
});
