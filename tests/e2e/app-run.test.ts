import { spawn } from 'node:child_process';
import { once } from 'node:events';
import t from 'tap';
import { eventually, runningPlatform, testProject } from '../support/platform.ts';

const platform = await runningPlatform();
const image = 'localhost:5000/svc/hello:v1';
const script = 'console.log(process.env.GREETING, process.env.TOKEN.length); process.exit(process.argv[1] ? 3 : 0)';
const program = ['node', '-e', script];

/** Starts `svc`. */
function start(args: string[]) {
  const env = { ...process.env, XDG_CONFIG_HOME: platform.configFolder, SVC_API: platform.info.api, NO_COLOR: '1' };
  return spawn(process.execPath, ['cli/svc.js', ...args], { env, stdio: ['pipe', 'pipe', 'inherit'] });
}

interface Run {
  name: string;
  status: string;
  command: string[];
}

t.test('a command runs once with the image, variables and secrets of an app', async (t) => {
  const { namespace, flags } = await testProject(t, platform);
  await platform.ok(['app', 'create', 'api', '--image', image, '--env', 'GREETING=hello', ...flags]);
  await platform.ok(['app', 'secret', 'set', 'api', 'TOKEN', '--value-stdin', '--restart', ...flags], 'hush-hush');

  const ended = await platform.svc(['app', 'run', 'api', ...flags, '--', ...program]);
  t.match(ended, { code: 0, stdout: 'hello 9\n' });

  const failed = await platform.svc(['app', 'run', 'api', ...flags, '--', ...program, 'fail']);
  t.match(failed, { code: 1, stdout: 'hello 9\n', stderr: /The program exited with code 3.*run_failed/ });

  const runs = await platform.json<Run[]>(['app', 'runs', 'api', ...flags]);
  t.match(runs, [
    { status: 'failed', command: [...program, 'fail'] },
    { status: 'succeeded', command: program },
  ]);
  t.equal(await platform.ok(['app', 'logs', 'api', '--run', runs[1]?.name ?? '', ...flags]), 'hello 9');

  const left = await platform.ok([
    'app',
    'run',
    'api',
    '-d',
    '-o',
    'name',
    ...flags,
    '--',
    'node',
    '-e',
    'setInterval(() => {}, 1000)',
  ]);
  await eventually(
    () => platform.json<Run[]>(['app', 'runs', 'api', ...flags]),
    (now) => now.some(({ name, status }) => name === left && status === 'running'),
  );
  await platform.ok(['app', 'delete', 'api', '--yes', ...flags]);
  const runsLeft = ['-n', namespace, 'get', 'jobs.batch,pods', '-l', 'app=api,platform.svc/role=run', '-o', 'name'];
  await eventually(
    () => platform.kubectl(...runsLeft),
    ({ stdout }) => stdout === '',
  );
});

t.test('a release command runs before the pods, and stops the deployment when it fails', async (t) => {
  const { flags } = await testProject(t, platform);
  const released = (code: number) => `node -e "console.log('migrating'); process.exit(${code})"`;
  const create = ['app', 'create', 'api', '--image', image, '--release-command', released(0)];
  await platform.ok([...create, ...flags]);
  const { url } = await platform.json<{ url: string }>(['app', 'show', 'api', ...flags]);
  t.match(await platform.json(['app', 'runs', 'api', ...flags]), [{ name: 'api-release-1', status: 'succeeded' }]);
  t.equal(await platform.ok(['app', 'logs', 'api', '--run', 'api-release-1', ...flags]), 'migrating');

  const update = ['--image', 'localhost:5000/svc/hello:v2', '--release-command', released(4)];
  const failed = await platform.svc(['app', 'update', 'api', ...update, ...flags]);
  t.match(failed, { code: 1, stderr: /The release command failed: The program exited with code 4/ });
  await eventually(
    () => platform.json<{ trigger: string; status: string }[]>(['app', 'history', 'api', ...flags]),
    ([newest]) => newest?.trigger === 'rollback' && newest.status === 'succeeded',
  );
  t.match((await platform.request(url)).body, 'v1', 'the previous version serves');
  t.match(await platform.json(['app', 'runs', 'api', ...flags]), [
    { name: 'api-release-2', trigger: 'release', status: 'failed' },
    { name: 'api-release-1', trigger: 'release', status: 'succeeded' },
  ]);
});

t.test('a run with a terminal has the input and the exit code of the caller, and its pod ends with it', async (t) => {
  const { namespace, flags } = await testProject(t, platform);
  await platform.ok(['app', 'create', 'api', '--image', image, '--env', 'GREETING=hello', ...flags]);
  const run = (options: string, ...command: string[]) => ['app', 'run', options, 'api', ...flags, '--', ...command];
  const echo =
    'process.stdin.on("data", (chunk) => process.stdout.write(chunk)).on("end", () => (process.exitCode = 3))';
  const content = 'x'.repeat(300_000);
  const piped = await platform.svc(run('-i', 'node', '-e', `console.log(process.env.GREETING); ${echo}`), content);
  t.equal(piped.code, 3, piped.stderr);
  t.ok(piped.stdout === `hello\n${content}`, 'all of the input comes back');

  // Its input stays open, as that of a real terminal: Kubernetes may drop the output of a terminal whose input has ended.
  const terminal = start(run('-it', 'sh', '-c', 'test -t 0 && echo ready && read word && echo "got $word"; exit 4'));
  t.teardown(() => terminal.kill());
  const closed = once(terminal, 'close') as Promise<[number]>;
  let output = '';
  for await (const chunk of terminal.stdout as AsyncIterable<Buffer>) {
    output += chunk.toString();
    if (output === 'ready\r\n') terminal.stdin.write('it\n');
  }
  t.match(output, /got it\r\n/);
  t.equal((await closed)[0], 4);

  t.match(await platform.svc(run('-i', '/no/such/program')), { code: 1, stderr: /\(exec_failed\)/ });
  const stop = start(run('-i', 'sh', '-c', 'echo started; sleep 600'));
  t.teardown(() => stop.kill());
  await once(stop.stdout, 'data');
  const left = ['-n', namespace, 'get', 'jobs.batch,pods', '-l', 'platform.svc/role=run', '-o', 'name'];
  t.match((await platform.kubectl(...left)).stdout, /pod\/api-/);
  stop.kill('SIGINT');
  await eventually(
    () => platform.kubectl(...left),
    ({ stdout }) => stdout === '',
  );
  await eventually(
    () => platform.json<Run[]>(['app', 'runs', 'api', ...flags]),
    (runs) => runs.length === 0,
  );

  // Another request stops the run of a session.
  const stopped = start(run('-i', 'sh', '-c', 'echo started; sleep 600'));
  t.teardown(() => stopped.kill());
  const ended = once(stopped, 'close') as Promise<[number]>;
  await once(stopped.stdout, 'data');
  const [{ name }] = await platform.json<[Run]>(['app', 'runs', 'api', ...flags]);
  await platform.ok(['app', 'stop-run', 'api', name, '--yes', ...flags]);
  t.not((await ended)[0], 0);
  await eventually(
    () => platform.kubectl(...left),
    ({ stdout }) => stdout === '',
  );
});
