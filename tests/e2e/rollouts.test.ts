import t from 'tap';
import { startLoad } from '../support/load.ts';
import { eventually, runningPlatform, testProject } from '../support/platform.ts';

const platform = await runningPlatform();
const hello = (version: string) => `localhost:5000/svc/hello:${version}`;

interface Entry {
  id: string;
  revision: number;
  image: string;
  digest?: string;
  trigger: string;
  actor?: string;
  status: string;
  reason?: string;
  rollbackOf?: number;
  rolledBackTo?: number;
  automatic?: boolean;
  current: boolean;
}

t.test('no request fails during rollouts, whether they succeed or fail', async (t) => {
  const { flags } = await testProject(t, platform);
  await platform.ok(['app', 'create', 'api', '--image', hello('v1'), '--memory', '128Mi', ...flags]);
  const app = await platform.json<{ url: string }>(['app', 'show', 'api', ...flags]);
  const history = () => platform.json<Entry[]>(['app', 'history', 'api', ...flags]);
  const version = async () => (await platform.request(app.url)).json()['version'];
  await eventually(
    () => platform.request(app.url),
    ({ status }) => status === 200,
  );
  const load = startLoad(platform, app.url);
  t.teardown(() => load.stop());

  await t.test('a rollout', async (t) => {
    await platform.ok(['app', 'update', 'api', '--image', hello('v2'), ...flags]);
    t.equal(await version(), 'v2');
    const [newest, first] = await history();
    t.match(newest, { revision: 2, digest: /^sha256:[0-9a-f]{64}$/, current: true });
    t.match(first, { digest: /^sha256:[0-9a-f]{64}$/ });
    t.not(newest?.digest, first?.digest);
  });

  await t.test('a container that crashes at its start: the reason is reported, and the app rolls back', async (t) => {
    await platform.ok(['app', 'env', 'set', 'api', 'RESPONSE_HEADERS={broken', ...flags]);
    const ended = await platform.svc(['app', 'restart', 'api', ...flags]);
    t.not(ended.code, 0);
    t.match(ended.stderr, /keeps crashing \(exit code 1\): SyntaxError.*The last lines of its log:.*SyntaxError/s);
    const entries = await eventually(history, ([newest]) => newest?.status === 'succeeded');
    t.match(entries, [
      { revision: 4, image: hello('v2'), trigger: 'rollback', actor: 'svc', automatic: true, rollbackOf: 2 },
      { revision: 3, status: 'failed', rolledBackTo: 2 },
      {},
      {},
    ]);
    t.equal(await version(), 'v2');
    const logs = await platform.svc(['deployment', 'logs', entries[1]?.id ?? '', ...flags.slice(0, 2)]);
    t.match(logs.stdout, /at JSON\.parse/, 'the whole log of the pod, which is gone');
    t.match(await platform.json(['app', 'show', 'api', ...flags]), {
      status: 'running',
      pendingRestart: true,
      env: { RESPONSE_HEADERS: '{broken' },
    });
  });

  await t.test('a rollback with the configuration', async (t) => {
    await platform.ok(['app', 'update', 'api', '--memory', '160Mi', ...flags]);
    const ended = await platform.svc(['app', 'rollback', 'api', '--revision', '1', '--with-config', ...flags]);
    t.equal(ended.code, 0, ended.stderr);
    t.match(ended.stderr, /unchanged: volume data.*undo with: svc app rollback api --revision 4 --with-config/s);
    t.equal(await version(), 'v1');
    t.match(await platform.json(['app', 'show', 'api', ...flags]), { memory: '128Mi', pendingRestart: false });
    const [newest, ...older] = await history();
    t.match(newest, { rollbackOf: 1, digest: older.at(-1)?.digest, current: true });
  });

  const { answered, failures } = await load.stop();
  t.same(failures, []);
  t.ok(answered > 500, `${answered} requests were answered`);
});
