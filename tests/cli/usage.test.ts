import t from 'tap';
import { world } from './world.ts';

t.test('help is printed on stdout, on every level, with examples', async (t) => {
  const { run, seen } = await world(t);
  for (const args of [[], ['--help'], ['-h'], ['help']]) {
    const { code, stdout, stderr } = await run(args);
    t.equal(code, 0);
    t.equal(stderr, '');
    for (const name of ['install', 'login', 'project', 'app', 'plan', 'key', 'function', 'status']) {
      t.match(stdout, new RegExp(`^  ${name} `, 'm'));
    }
  }
  t.match((await run(['app'])).stdout, /^ {2}gate {2,}Manage the gate of an app/m);
  t.match((await run(['app', 'gate', '--help'])).stdout, /svc app gate <command>/);
  const create = await run(['app', 'create', 'api', '--help']);
  t.match(create.stdout, /svc app create <app> \[options\]/);
  t.match(create.stdout, /--image <image> +image with registry/);
  t.match(create.stdout, /--no-wait/);
  t.match(create.stdout, /\$ svc app create api --image/);
  for (const words of [
    ['help', 'app', 'create'],
    ['app', 'help', 'create'],
  ]) {
    t.equal((await run(words)).stdout, create.stdout);
  }
  t.equal((await run(['help'])).stdout, (await run(['--help'])).stdout);
  t.notMatch((await run(['install', '--help'])).stdout, 'failpoints');
  t.equal((await run(['--version'])).stdout, 'svc 1.2.3\n');
  t.same(seen, []);
});

t.test('a usage error ends with 2, suggests a correction, and sends nothing', async (t) => {
  const { run, seen } = await world(t);
  const cases: [string[], RegExp][] = [
    [['ap'], /Unknown command "svc ap".*\n.*did you mean svc app\?/],
    [['app', 'creat'], /did you mean svc app create\?/],
    [['app', 'gaet'], /did you mean svc app gate\?/],
    [['frobnicate'], /see svc --help/],
    [['logs', 'api'], /Unexpected argument "api".*\n.*did you mean svc app logs api\?/],
    [['app', 'describe', 'api'], /did you mean svc app show\?/],
    [['app', 'gate', 'get'], /did you mean svc app gate status\?/],
    [['publish'], /did you mean svc deploy\?/],
    [['ls'], /did you mean svc app list\?/],
    [['rm', 'api'], /did you mean svc app delete\?/],
    [['ssh', 'api'], /did you mean svc app exec -it <app> -- sh\?/],
    [['cp', 'a', 'api:/tmp'], /did you mean svc app cp\?/],
    [['run'], /did you mean svc app run, svc function run or svc job run\?/],
    [['log'], /did you mean svc logs\?/],
    [['signin'], /did you mean svc login\?/],
    [['constructor'], /see svc --help/],
    [['app', 'releases', 'api'], /did you mean svc app history\?/],
    [['app', 'stop', 'api'], /did you mean svc app update <app> --replicas 0\?/],
    [['app', 'list', '--namespace', 'x'], /did you mean --environment\?/],
    [['app', 'delete', 'api', '--force'], /did you mean --yes\?/],
    [['app', 'logs', 'api', '--lines', '5'], /did you mean --tail\?/],
    [['app', 'list', '--constructor'], /Unknown option --constructor/],
    [['help', 'frobnicate'], /see svc --help/],
    [['app', 'update', 'api', '--env', 'A=1'], /did you mean svc app env set\?/],
    [['function', 'update', 'f', '--env', 'A=1'], /did you mean svc function env set\?/],
    [['app', 'list', '-oxml'], /one of table, json, yaml, name/],
    [['--project', 'x', 'app', 'list'], /Options go after the command/],
    [['app', 'list', '--projet', 'x'], /Unknown option --projet.*\n.*did you mean --project\?/],
    [['app', 'list', '--xyzzy'], /Unknown option --xyzzy/],
    [['app', 'list', '--no-wait'], /Unknown option --no-wait/],
    [['app', 'show'], /<app> is missing.*\n.*svc app show <app>/],
    [['app', 'show', 'a', 'b'], /Unexpected argument "b"/],
    [['app', 'create', 'api'], /Use either --image <image> or --git <url>/],
    [['app', 'create', 'api', '--image'], /--image needs a value/],
    [['app', 'create', 'api', '--image', '--port', '1'], /--image needs a value/],
    [['app', 'update', '--image', '-p', 'shop'], /--image needs a value: --image <image>/],
    [['app', 'update', 'api', '--image', '-p', 'shop'], /--image needs a value: --image <image>/],
    [['job', 'create', 'j', '--image', '-e', 'prod'], /--image needs a value: --image <image>/],
    [['app', 'create', 'api', '--git', '-p', 'shop'], /--git needs a value: --git <url>/],
    [['app', 'list', '-p', '-e', 'prod'], /-p needs a value: -p <project>/],
    [['audit', '--environment', '-p', 'shop'], /--environment needs a value: --environment <environment>/],
    [['app', 'promote', 'api', '--from', '-p', 'shop'], /--from needs a value: --from <environment>/],
    [['app', 'create', 'api', '--image', ''], /--image needs a value, but the value is empty/],
    [['app', 'list', '--environment='], /--environment needs a value, but the value is empty/],
    [['function', 'create', 'f', '--trigger', 'redis', '--list', ''], /--list needs a value, but the value is empty/],
    [['function', 'create', 'f', '--dependency', ''], /--dependency needs a value, but the value is empty/],
    [['app', 'create', 'api', '--image', 'a:1', '--image', 'b:1'], /--image is given 2 times/],
    [['app', 'create', 'api', '--image', 'a:1', '--port', '70000'], /--port must be a whole number from 1 to 65535/],
    [['app', 'create', 'api', '--image', 'a:1', '--port', '0x50'], /--port must be a whole number/],
    [['app', 'create', 'api', '--image', 'a:1', '--timeout', 'soon'], /must be a duration/],
    [
      ['function', 'update', 'f', '--idle-timeout', '2d'],
      /--idle-timeout must be a duration of up to 1d, .*, not "2d"/,
    ],
    [['function', 'update', 'f', '--request-timeout', '2h'], /--request-timeout must be a duration of up to 1h, /],
    [['function', 'logs', 'f', '--since', '400d'], /--since must be a duration of up to 365d, /],
    [['app', 'logs', 'a', '--since', '400d'], /--since must be a duration of up to 365d, /],
    [['job', 'update', 'j', '--run-timeout', '31d'], /--run-timeout must be a duration of up to 30d, /],
    [['app', 'create', 'api', '--image', 'a:1', '--no-wait=1'], /--no-wait takes no value/],
    [['app', 'show', 'api', '-o', 'xml'], /one of table, json, yaml, name/],
    [['app', 'update', 'api'], /Nothing to change/],
    [['app', 'update', 'api', '--replicas', '1', '--commit', 'abc'], /--commit cannot be combined with settings/],
    [['plan', 'create', 'p', '--burst', '1'], /--rate <n> is required/],
    [['key', 'create', '--plan', 'p', '--expires', 'tomorrow'], /--expires takes a date/],
    [['function', 'create', 'f', '--code-file', '/nothing/here.js'], /Cannot read/],
    [['function', 'create', 'f', '--code-file', '/dev/null'], /is empty/],
    [['function', 'create', 'f', '--code-file', 'x', '--runtime', 'cobol'], /--runtime must be one of node/],
    [['function', 'delete'], /<...functions> is missing/],
    [['install'], /--apps-domain <domain> is required/],
    [['install', '--apps-domain', 'a.example.com', '--cluster', 'c', '--dry-run'], /No image is set for platform/],
    [['install', '--apps-domain', 'A_b', '--cluster', 'c', '--dry-run'], /apps-domain|A_b/],
    [['install', '--apps-domain', 'a.example.com', '--cluster', 'c', '--image-platform', 'x'], /image reference/],
  ];
  for (const [args, expected] of cases) {
    const { code, stdout, stderr } = await run(args);
    t.equal(code, 2, args.join(' '));
    t.equal(stdout, '', args.join(' '));
    t.match(stderr, expected, args.join(' '));
    t.match(stderr, /^error: .* \(usage\)\n/s, args.join(' '));
  }
  t.same(seen, []);
});

t.test('ls and rm are short for list and delete, and a short option takes its value in the same word', async (t) => {
  const { run, seen } = await world(t, {
    'GET /api/v1/projects/shop/plans': { body: { items: [] } },
    'GET /api/v1/projects/shop/plans/free': { status: 404, body: { code: 'not_found', message: 'There is none.' } },
  });
  t.same(JSON.parse((await run(['plan', 'ls', '-ojson'])).stdout), []);
  t.match(await run(['plan', 'rm', 'free', '--yes']), { code: 1, stderr: /not_found/ });
  t.match(seen, [{ method: 'GET' }, { path: '/api/v1/projects/shop/plans/free' }]);
  t.match((await run(['ls'])).stderr, /Unknown command "svc ls"/);
});

t.test('without a project a command says how to name one', async (t) => {
  const { run } = await world(t);
  const { code, stderr } = await run(['app', 'list'], { env: { SVC_PROJECT: '' } });
  t.equal(code, 2);
  t.match(stderr, /No project.*\n.*--project.*SVC_PROJECT.*svc project use/);
});

t.test('values are sent as typed, also numbers and leading hyphens', async (t) => {
  const { run, seen } = await world(t, {
    'PATCH /api/v1/projects/shop/apps/api': { status: 500, body: { code: 'internal', message: 'x' } },
    'GET /api/v1/projects/shop/api-keys/01234567': { status: 500, body: { code: 'internal', message: 'x' } },
    'POST /api/v1/projects/shop/plans': { status: 500, body: { code: 'internal', message: 'x' } },
  });
  for (const commit of ['0123456', '1e5', '12345678901234567890', '-1', '--dash', 'true']) {
    await run(['app', 'update', 'api', '--image=r.example.com/a:1', `--commit=${commit}`]);
    t.match(seen.at(-1)?.body, { image: 'r.example.com/a:1', commit }, JSON.stringify(commit));
  }
  await run(['key', 'show', '01234567']);
  t.equal(seen.at(-1)?.path, '/api/v1/projects/shop/api-keys/01234567');
  await run(['plan', 'create', '007', '--rate', '0.5', '--burst', '3']);
  t.same(seen.at(-1)?.body, { name: '007', requestsPerSecond: 0.5, burst: 3 });
});

t.test('manifests are printed without a cluster: YAML documents or a JSON List, no secrets', async (t) => {
  const { run, seen } = await world(t);
  const install = ['install', '--apps-domain', 'apps.example.com', '--cluster', 'home', '--dry-run'];
  const args = [...install, '--registry', 'r.example.com'];
  const yaml = await run(args);
  t.equal(yaml.code, 0, yaml.stderr);
  t.match(yaml.stdout, /^# Also in the cluster: Secrets, .*\n# Secret svc-system\/svc-database: /);
  t.match(yaml.stdout, 'image: r.example.com/svc/platform:1.2.3');
  t.match(yaml.stdout, 'Host(`console.apps.example.com`)');
  t.notMatch(yaml.stdout, /kind: Secret$/m);
  t.equal((await run([...args, '-o', 'yaml'])).stdout, yaml.stdout);
  const list = JSON.parse((await run([...args, '-o', 'json'])).stdout) as { kind: string; items: { kind: string }[] };
  t.equal(list.kind, 'List');
  t.ok(list.items.length > 30);
  t.same(seen, []);
});
