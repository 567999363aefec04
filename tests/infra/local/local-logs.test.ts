import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { createLocalLogs } from '../../../infra/local/local-logs.ts';
import { systemSecrets } from '../../../infra/manifests/platform/secrets.ts';
import { systemClock } from '../../../runtime/domain/clock.ts';
import { appLabel, kindLabel, systemNamespace } from '../../../runtime/domain/labels.ts';
import { createLogClient } from '../../../runtime/logs/client.ts';
import type { LogStoreStatus } from '../../../runtime/logs/log-store.ts';
import { queryParameters } from '../../../runtime/logs/query.ts';
import { close, listen } from '../../../runtime/process/listening.ts';
import { everything, texts } from '../../runtime/logs/rig.ts';
import { fakeKube } from '../../support/fake-kube.ts';
import { silentLog } from '../../support/log.ts';
import { ownFolder } from '../../support/own-folder.ts';
import { eventually } from '../../support/platform.ts';

const token = 'read-secret';

function rig(t: Test, options: { folder?: string; port?: number } = {}) {
  const { folder = ownFolder(t), port = 0 } = options;
  const kube = fakeKube();
  const { name, key } = systemSecrets.logStore;
  kube.seed({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name, namespace: systemNamespace },
    data: { [key]: Buffer.from(token).toString('base64') },
  } as never);
  const logs = createLocalLogs({ kube, folder, port, clock: systemClock, log: silentLog });
  const start = async () => {
    const url = `http://127.0.0.1:${await logs.start()}`;
    t.teardown(() => logs.stop());
    const client = createLogClient({ url, token: () => Promise.resolve(token) });
    const request = (path: string) => fetch(`${url}${path}`, { headers: { authorization: `Bearer ${token}` } });
    const status = async () => (await (await request('/status')).json()) as LogStoreStatus;
    return { client, request, status };
  };
  const print = (namespace: string, lines: readonly string[]) =>
    logs.collect(
      {
        metadata: { name: 'app-api-1', namespace, labels: { [kindLabel]: 'App', [appLabel]: 'api' } },
        container: 'app',
        stream: 'stdout',
        time: new Date().toISOString(),
      },
      lines,
    );
  return { logs, start, print };
}

t.test('what a namespace prints at once is bounded by its size, and what is dropped is counted', async (t) => {
  const { logs, start, print } = rig(t);
  const { client, status } = await start();
  await logs.enable();
  print(
    'shop-prod',
    Array.from({ length: 100 }, () => 'x'.repeat(16 * 1024)),
  );
  print('blog-prod', ['quiet']);
  const quiet = await eventually(
    () => texts(client, { namespace: 'blog-prod' }),
    (lines) => lines.length > 0,
  );
  t.same(quiet, ['quiet']);
  t.equal((await texts(client)).length, 64);
  t.match((await status()).dropped, { disk_full: 36 });
});

t.test('a port that another program has is an error, so that the cluster chooses another', async (t) => {
  const other = createServer();
  const port = await listen(other, 0, '127.0.0.1');
  t.teardown(() => close(other));
  await t.rejects(rig(t, { port }).start(), { code: 'EADDRINUSE' });
});

t.test('a store that does not start has its port nevertheless, and refuses', async (t) => {
  const file = join(ownFolder(t), 'file');
  await writeFile(file, '');
  const { logs, start, print } = rig(t, { folder: join(file, 'logs') });
  const { request } = await start();
  await t.rejects(logs.enable(), { code: 'ENOTDIR' });
  print('shop-prod', ['lost']);
  t.equal((await request('/status')).status, 503);
  t.equal((await request(`/read?${queryParameters(everything).toString()}`)).status, 503);
});

t.test(
  'a disabled store refuses, keeps its lines until they are deleted, and continues when it is enabled',
  async (t) => {
    const { logs, start, print } = rig(t);
    const { client, request } = await start();
    const lines = async (expected: number) =>
      eventually(
        () => texts(client),
        (stored) => stored.length === expected,
      );
    await logs.enable();
    await logs.enable();
    print('shop-prod', ['first']);
    await logs.disable();
    await logs.disable();
    t.equal((await request('/status')).status, 503);
    print('shop-prod', ['while it is disabled']);
    t.ok(logs.hasData());

    await logs.enable();
    print('shop-prod', ['second']);
    t.same(await lines(2), ['first', 'second'], 'what was printed right before the end is stored');

    await logs.disable();
    await logs.deleteData();
    t.notOk(logs.hasData());
    await logs.enable();
    t.same(await lines(0), []);
  },
);
