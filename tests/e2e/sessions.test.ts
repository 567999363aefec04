import { createHash, randomBytes } from 'node:crypto';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { buffer, text } from 'node:stream/consumers';
import pg from 'pg';
import t from 'tap';
import { runningPlatform, testProject } from '../support/platform.ts';

/** Commands in pods and forwarded ports, as a deployer uses them (docs/decisions/0048-exec-and-port-forward.md). */
const platform = await runningPlatform();
const { flags } = await testProject(t, platform);
const image = 'localhost:5000/svc/hello:v1';

/** Starts `svc`, with its streams as bytes. */
function start(args: string[]) {
  const env = { ...process.env, XDG_CONFIG_HOME: platform.configFolder, SVC_API: platform.info.api, NO_COLOR: '1' };
  return spawn(process.execPath, ['cli/svc.js', ...args], { env, stdio: ['pipe', 'pipe', 'pipe'] });
}

await Promise.all([
  platform.ok(['app', 'create', 'api', '--image', image, '--port', '8080', ...flags]),
  platform.ok(['service', 'create', 'orders', '--type', 'postgres', ...flags]),
]);

t.test('a command runs in a pod: arguments, both outputs, exit code, binary input', async (t) => {
  const script = 'process.stdout.write(process.argv[1]); console.error(process.env.PORT > 0); process.exitCode = 7';
  const ran = await platform.svc(['app', 'exec', 'api', ...flags, '--', 'node', '-e', script, '$(id) "x"']);
  t.match(ran, { code: 7, stdout: '$(id) "x"', stderr: 'true\n' });
  const content = randomBytes(3 * 1024 * 1024);
  const sha = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex');
  const cat = start(['app', 'exec', '-i', 'api', ...flags, '--', 'cat']);
  cat.stdin.end(content);
  const [back, [code]] = await Promise.all([buffer(cat.stdout), once(cat, 'close') as Promise<[number]>]);
  t.same([sha(back), code], [sha(content), 0]);
});

t.test('a command gets a terminal', async (t) => {
  const args = ['app', 'exec', '-it', 'api', ...flags, '--'];
  const shell = start([
    ...args,
    'node',
    '-e',
    'process.stdout.write(String(process.stdin.isTTY)); process.exitCode = 4',
  ]);
  const [output, [code]] = await Promise.all([text(shell.stdout), once(shell, 'close') as Promise<[number]>]);
  t.equal(output, 'true');
  t.equal(code, 4);
});

t.test('a forwarded port leads to a database', async (t) => {
  const access = await platform.json<{ username: string; password: string; database: string }>([
    'service',
    'credentials',
    'orders',
    ...flags,
  ]);
  const forward = start(['port-forward', 'service/orders', '0:5432', ...flags]);
  t.teardown(() => forward.kill());
  let port: string | undefined;
  for await (const chunk of forward.stderr as AsyncIterable<Buffer>) {
    [, port] = /127\.0\.0\.1:(\d+) leads to/.exec(chunk.toString()) ?? [];
    if (port !== undefined) break;
  }
  const { username: user, password, database } = access;
  const client = new pg.Client({ host: '127.0.0.1', port: Number(port), user, password, database });
  await client.connect();
  const size = 5_000_000;
  const { rows } = await client.query<{ long: string }>(`SELECT repeat('x', ${size}) AS long`);
  t.equal(rows[0]?.long.length, size);
  await client.end();
  const closed = once(forward, 'close') as Promise<[number]>;
  forward.kill('SIGINT');
  t.equal((await closed)[0], 130);
});

t.test('what is not running or not declared is refused', async (t) => {
  t.match(await platform.svc(['app', 'exec', 'api', '--pod', 'orders-0', ...flags, '--', 'id']), {
    code: 1,
    stderr: /no running pod of this name/,
  });
  t.match(await platform.svc(['port-forward', 'app/api', '0:22', ...flags]), { code: 2, stderr: /\(invalid_value\)/ });
});

t.test('svc watch prints changes of objects and deployments as they happen', async (t) => {
  const watch = start(['watch', ...flags]);
  t.teardown(() => watch.kill());
  await once(watch.stderr, 'data');
  await platform.ok(['volume', 'create', 'cache', '--size', '1Mi', ...flags]);
  await platform.ok(['app', 'restart', 'api', '--no-wait', ...flags]);
  const expected = [/ added +Volume prod\/cache\n/, / added +Deployment prod\/api\n/];
  let printed = '';
  for await (const chunk of watch.stdout as AsyncIterable<Buffer>) {
    printed += chunk.toString();
    if (expected.every((line) => line.test(printed))) break;
  }
  for (const line of expected) t.match(printed, line);
});
