import t from 'tap';
import { node } from '../../../infra/testcluster/settings.ts';
import { gitServer } from '../../support/git-server.ts';
import { eventually, runningPlatform, testProject } from '../../support/platform.ts';

/** The time that builds have is one for all. */
const platform = await runningPlatform();
/** In a container what comes before the step that hangs takes its time: base image, dependencies. */
const [host, seconds] = platform.info.target === 'cluster' ? [node.address, 110] : ['127.0.0.1', 15];

interface Deployment {
  id: string;
  status: string;
  reason?: string;
}

t.test('a build that hangs is stopped, and says that it took too long and what it printed', async (t) => {
  const { flags, namespace } = await testProject(t, platform);
  const project = ['--project', namespace.replace(/-prod$/, '')];
  const repository = await gitServer(t, { host });
  const scripts = { start: 'node server.mjs', build: 'echo hangs-now && sleep 3600' };
  repository.push({ 'package.json': JSON.stringify({ name: 'api', scripts }) });
  const config = (timeout: string) => platform.ok(['platform', 'config', 'set', '--build-timeout', timeout]);
  await config(`${seconds}s`);
  t.teardown(() => config('default'));
  t.match(await platform.json(['platform', 'config', 'show']), { builds: { timeoutSeconds: seconds } });
  const created = await platform.svc([
    ...['app', 'create', 'api', '--git', repository.url(), '--timeout', '5m', ...flags],
  ]);
  t.equal(created.code, 1);
  t.match(
    created.stderr,
    new RegExp(`The build did not end within ${seconds} seconds, and was stopped.*--build-timeout`),
  );
  const [deployment] = await platform.json<Deployment[]>(['deployment', 'list', '--app', 'api', ...flags]);
  t.match(deployment, { status: 'failed', reason: /^The build did not end within .*, and was stopped/ });
  t.match(await platform.ok(['deployment', 'logs', deployment?.id ?? '', ...project]), /hangs-now/);
  const left = ['-n', 'svc-builds', 'get', 'pods,jobs.batch', '-l', 'platform.svc/role=build', '-o', 'name'];
  await eventually(
    () => platform.kubectl(...left),
    ({ code, stdout }) => code === 0 && stdout === '',
  );
});
