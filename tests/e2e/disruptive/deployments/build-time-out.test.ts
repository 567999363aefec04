import t from 'tap';
import { node } from '../../../../infra/testcluster/settings.ts';
import { gitServer } from '../../../support/git-server.ts';
import { eventually, runningPlatform, testProject } from '../../../support/platform.ts';

/** All builds have the same time-out. */
const platform = await runningPlatform();
const [host, shortest] = platform.info.target === 'cluster' ? [node.address, 60] : ['127.0.0.1', 15];

interface Deployment {
  id: string;
  status: string;
  reason?: string;
}

t.test('a build that hangs is stopped, and reports the time-out and its output', async (t) => {
  const { flags, namespace } = await testProject(t, platform);
  const project = ['--project', namespace.replace(/-prod$/, '')];
  const repository = await gitServer(t, { host });
  const scripts = { start: 'node server.mjs', build: 'echo hangs-now && sleep 3600' };
  repository.push({ 'package.json': JSON.stringify({ name: 'api', scripts }) });
  const config = (timeout: string) => platform.ok(['platform', 'config', 'set', '--build-timeout', timeout]);
  t.teardown(() => config('default'));
  /** @returns the output of the build */
  const build = async (seconds: number): Promise<string> => {
    const app = `api-${seconds}`;
    await config(`${seconds}s`);
    t.match(await platform.json(['platform', 'config', 'show']), { builds: { timeoutSeconds: seconds } });
    const created = await platform.svc(['app', 'create', app, '--git', repository.url(), '--timeout', '10m', ...flags]);
    t.equal(created.code, 1);
    t.match(created.stderr, /The build exceeded its timeout of .* and was stopped.*--build-timeout/);
    const [deployment] = await platform.json<Deployment[]>(['deployment', 'list', '--app', app, ...flags]);
    t.match(deployment, { status: 'failed', reason: /^The build exceeded its timeout of .* and was stopped/ });
    return platform.ok(['deployment', 'logs', deployment?.id ?? '', ...project]);
  };
  let output = '';
  // The steps before the one that hangs take longer in a container, and on a busy machine.
  for (let seconds = shortest; !output.includes('hangs-now') && seconds <= 480; seconds *= 2)
    output = await build(seconds);
  t.match(output, /hangs-now/);
  const listObjects = ['-n', 'svc-builds', 'get', 'pods,jobs.batch', '-l', 'platform.svc/role=build', '-o', 'name'];
  await eventually(
    () => platform.kubectl(...listObjects),
    ({ code, stdout }) => code === 0 && stdout === '',
  );
});
