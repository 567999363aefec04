import t from 'tap';
import { codeFile } from '../../../support/code-file.ts';
import { startLoad } from '../../../support/load.ts';
import { eventually, runningPlatform, testProject } from '../../../support/platform.ts';
import { replacePods } from '../../../support/replicas.ts';

const platform = await runningPlatform();

t.test('no request fails while the interceptor is replaced, nor one in progress', async (t) => {
  const { flags } = await testProject(t, platform);
  const code = `export const handler = async (event, { path }) => {
    if (path === '/slow') await new Promise((resolve) => setTimeout(resolve, 3_000));
    return { statusCode: 200, body: 'done' };
  };`;
  const file = codeFile(t, 'hello.js', code);
  await platform.ok(['function', 'create', 'hello', '--runtime', 'node', '--code-file', file, ...flags]);
  const { url } = await platform.json<{ url: string }>(['function', 'show', 'hello', ...flags]);
  await eventually(
    () => platform.request(url),
    ({ status }) => status === 200,
  );
  const load = startLoad(platform, url);
  t.teardown(() => load.stop());
  const slow = startLoad(platform, `${url}/slow`);
  t.teardown(() => slow.stop());
  await replacePods(platform, 'svc-interceptor');
  const before = load.answered();
  await eventually(
    () => Promise.resolve(load.answered()),
    (now) => now > before + 20,
  );
  const [quick, long] = await Promise.all([load.stop(), slow.stop()]);
  t.same([...quick.failures, ...long.failures], []);
  t.ok(long.answered > 0, `${long.answered} slow ones among ${quick.answered} others`);
});
