import t from 'tap';
import { codeFile } from '../../support/code-file.ts';
import { drainPlatform } from '../../support/drained-platform.ts';
import { eventually, runningPlatform, testProject, uniqueName } from '../../support/platform.ts';

const platform = await runningPlatform();
const code = `
export async function handler(event) {
  console.log('line ' + event.n);
  return { ok: true };
}`;

t.test('the logs of a function stay after it has scaled to zero, and are sent to the log drain', async (t) => {
  const { flags, namespace } = await testProject(t, platform);
  const drain = await drainPlatform(t, platform, '127.0.0.1');
  const name = uniqueName('hello');
  const file = codeFile(t, 'hello.js', code);
  const create = ['function', 'create', name, '--runtime', 'node', '--code-file', file, '--idle-timeout', '5s'];
  await platform.ok([...create, ...flags]);
  const { url } = await platform.json<{ url: string }>(['function', 'show', name, ...flags]);
  const body = (n: number) => ({
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ n }),
  });
  for (const n of [1, 2, 3]) t.equal((await platform.request(url, body(n))).status, 200);
  const show = () => platform.json<{ replicas: number }>(['function', 'show', name, ...flags]);
  await eventually(show, ({ replicas }) => replicas === 0);
  const pods = async () => (await platform.kubectl('get', 'pods', '-n', namespace, '-o', 'name')).stdout;
  // From now on, only the store has the lines.
  await eventually(pods, (names) => !names.includes(name));
  const lines = async (...more: string[]) => {
    const { stdout, stderr } = await platform.svc(['function', 'logs', name, ...more, ...flags]);
    t.notMatch(stderr, /unavailable/);
    return stdout.match(/line \d/g) ?? [];
  };
  const read = await eventually(
    () => lines(),
    ({ length }) => length >= 3,
  );
  t.same(read, ['line 1', 'line 2', 'line 3']);
  t.same(await lines('--search', 'line 2'), ['line 2']);
  for (const n of [1, 2, 3]) await drain.arrived(`line ${n}`, namespace);
  t.match(await drain.state(), { status: 'on', refusedLines: 0, isAuthorized: true, isSecret: true });
});
