import { existsSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { loadGroup, type Group } from '../../cli/command.ts';
import { localPlatform } from '../../cli/local-platform.ts';
import { rootGroup } from '../../cli/commands/root.ts';
import { accepted, app, createdAt, deployment, id, sequence, world } from './world.ts';

const apps = '/api/v1/projects/shop/apps';

t.test('app create waits for the first deployment and prints the app', async (t) => {
  const { run, seen } = await world(t, {
    [`POST ${apps}`]: { status: 201, body: { ...app, status: 'pending', readyReplicas: 0 } },
    [`GET ${apps}/api`]: sequence(
      { body: { ...app, status: 'pending', readyReplicas: 0 } },
      { body: { ...app, status: 'running' } },
    ),
    [`GET ${apps}/api/history`]: sequence(
      { body: { items: [] } },
      { body: { items: [{ ...deployment, status: 'rolling_out', current: false }] } },
      { body: { items: [deployment] } },
    ),
  });
  const ran = await run([
    'app',
    'create',
    'api',
    '--image',
    'r.example.com/api:1',
    '--replicas',
    '2',
    '-e',
    'prod',
    '--health-path',
    '/ready',
  ]);
  t.equal(ran.code, 0, ran.stderr);
  t.match(seen[0], {
    query: { environment: 'prod' },
    body: { name: 'api', image: 'r.example.com/api:1', replicas: 2, healthPath: '/ready' },
  });
  t.equal(ran.stderr, 'api: pending (0 of 1 ready)\napi: running (1 of 1 ready)\n');
  t.equal(
    ran.stdout,
    `App:          api
Project:      shop
Environment:  prod
Status:       running
URL:          https://api--shop-prod.apps.example.com
Image:        r.example.com/api:1
Ready:        1 of 1
Gate:         off
Security:     headers on, policy none
Port:         8080
`,
  );
});

t.test('app create: failures end with 1 and the reason; --no-wait and --timeout end sooner', async (t) => {
  const { run, routes, seen } = await world(t, {
    [`POST ${apps}`]: { status: 201, body: { ...app, status: 'pending' } },
    [`GET ${apps}/api/history`]: { body: { items: [] } },
  });
  const create = ['app', 'create', 'api', '--image', 'r.example.com/api:1'];
  routes[`GET ${apps}/api`] = { body: { ...app, status: 'failed', message: 'the host is taken' } };
  t.match(await run(create), { code: 1, stdout: '', stderr: /App "api" failed: the host is taken/ });

  // The app reports it first; the deployment ends a moment later, and its reason contains the end of a log.
  const rolling = { ...deployment, revision: 1, status: 'rolling_out', current: false };
  const ended = { ...rolling, status: 'failed', reason: 'nothing listens\nno database' };
  routes[`GET ${apps}/api/history`] = sequence({ body: { items: [rolling] } }, { body: { items: [ended] } });
  t.match(await run(create), { code: 1, stderr: /Revision 1 of api failed: nothing listens\nno database/ });
  routes[`GET ${apps}/api/history`] = { body: { items: [rolling] } };
  t.match(
    await run(create),
    { code: 1, stderr: /App "api" failed: the host is taken/ },
    'it stops waiting at the time-out',
  );

  routes[`GET ${apps}/api`] = { body: { ...app, status: 'deploying' } };
  const failed = { ...deployment, revision: 1, status: 'failed', reason: 'ImagePullBackOff', current: false };
  routes[`GET ${apps}/api/history`] = { body: { items: [failed] } };
  t.match(await run(create), { code: 1, stdout: '', stderr: /Revision 1 of api failed: ImagePullBackOff/ });

  routes[`GET ${apps}/api/history`] = { body: { items: [] } };
  t.match(await run([...create, '--timeout', '3s']), {
    code: 3,
    stderr: /after 3 seconds.*api: deploying.*\(timeout\)/,
  });

  const before = seen.length;
  t.match(await run([...create, '--no-wait']), { code: 0, stdout: /pending/ });
  t.equal(seen.length, before + 1);
});

t.test('app list and show in every format', async (t) => {
  const second = { ...app, name: 'a-longer-name', url: undefined, replicas: 10, readyReplicas: 3, gate: 'gated' };
  const { run } = await world(t, {
    [`GET ${apps}`]: ({ query }) =>
      query['cursor'] === 'next' ? { body: { items: [second] } } : { body: { items: [app], nextCursor: 'next' } },
    [`GET ${apps}/api`]: { body: app },
  });
  t.equal(
    (await run(['app', 'list'])).stdout,
    `APP             STATUS    READY   GATE    IMAGE                 URL                                       CREATED
api             running   1/1     off     r.example.com/api:1   https://api--shop-prod.apps.example.com   1 hour ago
a-longer-name   running   3/10    gated   r.example.com/api:1   -                                         1 hour ago
`,
  );
  t.equal((await run(['app', 'list', '-o', 'name'])).stdout, 'api\na-longer-name\n');
  t.match(JSON.parse((await run(['app', 'list', '-o', 'json'])).stdout), [app, { name: 'a-longer-name' }]);
  t.same(JSON.parse((await run(['app', 'show', 'api', '--output=json'])).stdout), app);
  t.match((await run(['app', 'show', 'api', '-o', 'yaml'])).stdout, /^name: api$/m);
});

t.test('app update follows the deployment to its end', async (t) => {
  const path = `/api/v1/projects/shop/deployments/${id}`;
  const { run, seen, routes } = await world(t, {
    [`PATCH ${apps}/api`]: { status: 202, body: accepted },
    [`GET ${path}`]: sequence(
      { body: { ...deployment, status: 'accepted' } },
      { body: { ...deployment, status: 'rolling_out' } },
      { body: deployment },
    ),
  });
  const update = ['app', 'update', 'api', '--image', 'r.example.com/api:2', '--commit', '0123456'];
  const done = await run(update);
  t.equal(done.code, 0, done.stderr);
  t.same(seen[0]?.body, { image: 'r.example.com/api:2', commit: '0123456' });
  t.equal(done.stderr, 'api revision 2: accepted\napi revision 2: rolling out\n');
  t.match(done.stdout, /Revision: +2\n.*Commit: +0123456/s);

  for (const [status, expected] of [
    ['failed', /Revision 2 of api failed: no pull.*deployment_failed/],
    ['superseded', /Revision 2 of api was superseded/],
    ['cancelled', /was cancelled/],
  ] as const) {
    routes[`GET ${path}`] = { body: { ...deployment, status, reason: 'no pull' } };
    t.match(await run(update), { code: 1, stdout: '', stderr: expected });
  }
  const noWait = await run([...update, '--no-wait', '-o', 'json']);
  t.same(JSON.parse(noWait.stdout), accepted);
});

t.test('waiting continues while the API is briefly down, and ends at its time-out', async (t) => {
  const path = `/api/v1/projects/shop/deployments/${id}`;
  const unavailable = { status: 503, body: { code: 'unavailable', message: 'Later.' } };
  const { run, routes } = await world(t, {
    [`PATCH ${apps}/api`]: { status: 202, body: accepted },
    [`GET ${path}`]: sequence(unavailable, { status: 502, body: 'Bad Gateway' }, { body: deployment }),
  });
  const update = ['app', 'update', 'api', '--image', 'r.example.com/api:2', '--timeout', '5s'];
  t.match(await run(update), { code: 0, stderr: 'the platform does not respond; retrying\n' });
  routes[`GET ${path}`] = unavailable;
  t.match(await run(update), { code: 3, stderr: /after 5 seconds.*\(timeout\)/ });
  routes[`GET ${path}`] = { status: 500, body: { code: 'internal', message: 'Failed.' } };
  t.match(await run(update), { code: 1, stderr: /Failed\. \(internal\)/ });
});

t.test('app update --replicas waits until that number is ready', async (t) => {
  const { run } = await world(t, {
    [`PATCH ${apps}/api`]: { body: { ...app, replicas: 3 } },
    [`GET ${apps}/api`]: sequence(
      { body: { ...app, replicas: 3 } },
      { body: { ...app, replicas: 3, readyReplicas: 3 } },
    ),
  });
  t.match(await run(['app', 'update', 'api', '--replicas', '3']), {
    code: 0,
    stdout: /3 of 3/,
    stderr: /1 of 3 ready/,
  });
});

t.test('app history is a table with a mark on the current revision', async (t) => {
  const { run, seen } = await world(t, {
    [`GET ${apps}/api/history`]: {
      body: {
        items: [
          {
            ...deployment,
            revision: 3,
            status: 'failed',
            reason: 'bad\u001B[2Jimage',
            current: false,
            trigger: 'webhook',
          },
          deployment,
        ],
      },
    },
  });
  const { stdout } = await run(['app', 'history', 'api', '--limit', '2']);
  t.equal(seen[0]?.query['limit'], '2');
  t.equal(
    stdout,
    `REVISION   IMAGE                 COMMIT    TRIGGER   WHEN         STATUS      REASON
3          r.example.com/api:2   0123456   webhook   1 hour ago   failed      bad [2Jimage
2 *        r.example.com/api:2   0123456   manual    1 hour ago   succeeded   -
`,
  );
});

t.test('app history says which environment it shows unless the command line names it', async (t) => {
  const items = [{ ...deployment, environment: 'prod' }];
  const { run } = await world(t, { [`GET ${apps}/api/history`]: { body: { items } } });
  const expected = { stderr: 'environment: prod\n', stdout: /^REVISION/ };
  t.match(await run(['app', 'history', 'api']), expected);
  t.match(await run(['app', 'history', 'api', '-e', 'prod']), { stderr: '' });
  t.match(await run(['app', 'history', 'api'], { env: { SVC_ENVIRONMENT: 'prod' } }), expected);
});

t.test('app history shows skipped deployments with the reason, without a revision', async (t) => {
  const { revision: _revision, image: _image, ...rest } = deployment;
  const skipped = { ...rest, status: 'skipped', reason: 'Asked to.', current: false, trigger: 'webhook' };
  const { run } = await world(t, { [`GET ${apps}/api/history`]: { body: { items: [skipped, deployment] } } });
  const { stdout } = await run(['app', 'history', 'api']);
  t.match(stdout, /^- +- +0123456 +webhook +1 hour ago +skipped +Asked to\.$/m);
  t.equal((await run(['app', 'history', 'api', '-o', 'name'])).stdout, '2\n');
});

t.test('app rollback waits, and prints how to undo it', async (t) => {
  const { run, seen } = await world(t, {
    [`GET ${apps}/api/history`]: { body: { items: [{ ...deployment, revision: 7 }] } },
    [`POST ${apps}/api/rollback`]: { status: 202, body: { ...accepted, revision: 8 } },
    [`GET /api/v1/projects/shop/deployments/${id}`]: { body: { ...deployment, revision: 8, trigger: 'rollback' } },
  });
  const ran = await run(['app', 'rollback', 'api', '--revision', '5']);
  t.equal(ran.code, 0, ran.stderr);
  t.same(seen[1]?.body, { revision: 5 });
  t.match(ran.stderr, 'undo with: svc app rollback api --revision 7 --project shop');
  t.match(ran.stderr, /unchanged: volume data.*variables, secrets.*--with-config/);
  await run(['app', 'rollback', 'api', '--no-wait']);
  t.same(seen.at(-1)?.body, {});
});

t.test('delete asks for confirmation, waits until the app is gone, and deletes nothing without consent', async (t) => {
  const { run, routes, seen } = await world(t, {
    [`GET ${apps}/api`]: { body: app },
    [`DELETE ${apps}/api`]: () => {
      routes[`GET ${apps}/api`] = sequence(
        { body: { ...app, status: 'deleting' } },
        { status: 404, body: { code: 'not_found', message: 'x' } },
      );
      return { status: 202, body: app };
    },
  });
  const unasked = await run(['app', 'delete', 'api']);
  t.equal(unasked.code, 2);
  t.match(unasked.stderr, 'Delete app api in shop/prod?');
  t.match(unasked.stderr, '--yes');
  t.match(await run(['app', 'delete', 'api'], { typed: ['n\r'] }), { code: 1, stderr: /Nothing was changed/ });
  t.notOk(seen.some(({ method }) => method === 'DELETE'));
  const ran = await run(['app', 'delete', 'api', '--yes']);
  t.same(ran, { code: 0, stdout: '', stderr: 'deleting app api\napp api is deleted\n' });
  t.match(await run(['app', 'delete', 'api', '-y']), { code: 1, stderr: /not_found/ });
});

t.test('app gate enable waits until the route is protected', async (t) => {
  const { run, seen } = await world(t, {
    [`PUT ${apps}/api/gate`]: { body: { gate: 'applying' } },
    [`GET ${apps}/api/gate`]: sequence({ body: { gate: 'applying' } }, { body: { gate: 'gated' } }),
  });
  t.same(await run(['app', 'gate', 'enable', 'api']), {
    code: 0,
    stdout: 'gated\n',
    stderr: 'api: applying; not protected yet\n',
  });
  t.same(seen[0]?.body, { enabled: true });
  t.match(await run(['app', 'gate', 'status', 'api']), { stdout: 'gated\n' });
  await run(['app', 'gate', 'disable', 'api', '--no-wait']);
  t.same(seen.at(-1)?.body, { enabled: false });
});

t.test('app webhook: grace, filters and the secret URL', async (t) => {
  const webhook = { enabled: true, url: 'https://x/hook', token: 'svcwh_x', version: 2, hasSecretUrl: true };
  const { run, seen } = await world(t, {
    [`PUT ${apps}/api/webhook`]: { body: { ...webhook, graceUntil: '2026-01-01T01:00:00.000Z', branch: 'main' } },
    [`PATCH ${apps}/api/webhook`]: { body: { ...webhook, secretUrl: 'https://x/hook/s' } },
  });
  const enabled = await run(['app', 'webhook', 'enable', 'api', '--grace', '1h', '--branch', 'main', '--tags', 'v*']);
  t.same(seen[0]?.body, { graceSeconds: 3600, branch: 'main', tags: 'v*' });
  t.match(enabled.stdout, /Branch: +main\nSecret URL: +on \(shown only once\)/);
  t.match(enabled.stderr, 'the previous token works until 2026-01-01T01:00:00.000Z');
  const set = await run(['app', 'webhook', 'set', 'api', '--secret-url', 'on', '--tags', '']);
  t.same(seen[1]?.body, { tags: null, secretUrl: true });
  t.match(set.stdout, /Secret URL: +https:\/\/x\/hook\/s\n/);
  t.match(set.stderr, 'it is not shown again');
  t.equal((await run(['app', 'webhook', 'set', 'api'])).code, 2);
  const late = await run(['app', 'webhook', 'enable', 'api', '--grace', '31d']);
  t.match(late, { code: 2, stderr: /--grace must be a duration of up to 30d, such as .*, not "31d"/ });
});

t.test('app webhook deliveries, one of them, redeliver and test', async (t) => {
  const path = `${apps}/api/webhook/deliveries`;
  const item = {
    id,
    receivedAt: '2025-12-31T23:00:00.000Z',
    sender: 'github',
    event: 'push',
    verdict: 'accepted',
    status: 202,
    revision: 4,
    deploymentId: id,
    deploymentStatus: 'failed',
  };
  const view = { ...item, body: '{"ref":"x"}', bodyBytes: 11 };
  const { run, seen } = await world(t, {
    [`GET ${path}`]: { body: { items: [item] } },
    [`GET ${path}/${id}`]: { body: view },
    [`POST ${path}/${id}/redeliver`]: { body: { ...view, redeliveryOf: id } },
    [`POST ${apps}/api/webhook/test`]: ({ body }) => ({
      body: Object.keys(body as object).length === 0 ? view : { ...view, verdict: 'refused', code: 'invalid_value' },
    }),
  });
  const list = await run(['app', 'webhook', 'deliveries', 'api']);
  t.match(
    list.stdout,
    new RegExp(
      `^ID +WHEN +SENDER +EVENT +VERDICT +REVISION +DEPLOYMENT +REASON\n${id} .*github +push +accepted +4 +failed`,
    ),
  );
  t.equal(seen[0]?.query['limit'], '20');
  t.match(
    (await run(['app', 'webhook', 'deliveries', 'api', id])).stdout,
    /Verdict: +accepted \(202\)[^]*Deployment: +.* \(failed\)[^]*Body: +\{"ref":"x"\}/,
  );
  t.match((await run(['app', 'webhook', 'redeliver', 'api', id])).stdout, new RegExp(`Redelivery of: +${id}`));
  t.equal((await run(['app', 'webhook', 'test', 'api'])).code, 0);
  t.match(await run(['app', 'webhook', 'test', 'api', '--image', 'x']), { code: 1, stderr: /invalid_value/ });
});

t.test('app webhook prints URL and token on stdout', async (t) => {
  const webhook = { enabled: true, url: 'https://x/api/v1/webhook/shop-prod/api', token: 'svcwh_x', version: 1 };
  const { run, seen } = await world(t, {
    [`PUT ${apps}/api/webhook`]: { body: webhook },
    [`GET ${apps}/api/webhook`]: { body: { enabled: false } },
    [`DELETE ${apps}/api/webhook`]: { status: 204 },
  });
  const enabled = await run(['app', 'webhook', 'enable', 'api']);
  t.equal(enabled.stdout, `Webhook:  enabled\nURL:      ${webhook.url}\nToken:    svcwh_x\n`);
  t.match(enabled.stderr, 'X-Svc-Token');
  t.same(JSON.parse((await run(['app', 'webhook', 'enable', 'api', '-o', 'json'])).stdout), webhook);
  t.equal((await run(['app', 'webhook', 'status', 'api'])).stdout, 'Webhook:  disabled\n');
  t.match(await run(['app', 'webhook', 'disable', 'api']), { code: 0, stdout: '' });
  t.equal(seen.at(-1)?.method, 'DELETE');
});

t.test('projects and environments', async (t) => {
  const prod = { name: 'prod', namespace: 'shop-prod', ready: false };
  const project = { name: 'shop', status: 'creating', environments: [prod], createdAt };
  const ready = { ...project, status: 'ready', environments: [{ ...prod, ready: true }] };
  const staging = { name: 'staging', namespace: 'shop-staging', ready: true };
  const { run, seen, routes } = await world(t, {
    'POST /api/v1/projects': { status: 201, body: project },
    'GET /api/v1/projects/shop': sequence({ body: project }, { body: ready }),
    'GET /api/v1/projects': { body: { items: [ready] } },
    'POST /api/v1/projects/shop/environments': { status: 201, body: { ...staging, ready: false } },
    'GET /api/v1/projects/shop/environments': { body: { items: [...ready.environments, staging] } },
    'DELETE /api/v1/projects/shop': { status: 202, body: project },
  });
  const created = await run(['project', 'create', 'shop', '--environment', 'prod', '--environment', 'staging']);
  t.equal(created.code, 0, created.stderr);
  t.same(seen[0]?.body, { name: 'shop', environments: ['prod', 'staging'] });
  t.match(created.stdout, /prod +shop-prod +ready/);
  t.match((await run(['project', 'list'])).stdout, /^shop +ready +prod +1 hour ago$/m);

  routes['GET /api/v1/projects/shop'] = { body: { ...ready, environments: [...ready.environments, staging] } };
  t.match(await run(['environment', 'create', 'staging']), { code: 0, stdout: /staging +shop-staging +ready/ });
  t.equal((await run(['environment', 'list', '-o', 'name'])).stdout, 'prod\nstaging\n');

  const failing = { ...project, status: 'failed', environments: [{ ...prod, message: 'namespace shop-prod exists' }] };
  routes['GET /api/v1/projects/shop'] = { body: failing };
  t.match(await run(['project', 'create', 'shop']), { code: 1, stderr: /failed: namespace shop-prod exists/ });
  t.match(await run(['project', 'delete', 'shop', '--yes', '--no-wait']), { code: 0, stderr: /is being deleted/ });
});

t.test('environments are bounded, and deleting one requires its name', async (t) => {
  const limits = { cpu: '16', memory: '32Gi', storage: '200Gi', pods: 200, containerMemory: '512Mi' };
  const staging = { name: 'staging', namespace: 'shop-staging', ready: true, limits };
  const path = '/api/v1/projects/shop';
  const { run, seen, routes } = await world(t, {
    [`GET ${path}/environments`]: { body: { items: [staging] } },
    [`PATCH ${path}/environments/staging`]: { body: { ...staging, limits: { ...limits, pods: 7 } } },
    [`DELETE ${path}/environments/staging`]: () => {
      routes[`GET ${path}/environments`] = { body: { items: [] } };
      return { status: 202, body: { ...staging, ready: false, deleting: true } };
    },
  });
  t.match((await run(['environment', 'show', 'staging'])).stdout, /Memory: +32Gi/);
  t.match(await run(['environment', 'show', 'prod']), { code: 1, stderr: /no environment "prod".*it has staging/s });
  const updated = await run(['environment', 'update', 'staging', '--pods', '7', '--container-memory', 'default']);
  t.match(updated, { code: 0, stdout: /Pods: +7/ });
  t.same(seen.at(-1)?.body, { limits: { pods: 7, containerMemory: null } });
  t.match(await run(['environment', 'update', 'staging', '--pods', 'default']), { code: 0 });
  t.same(seen.at(-1)?.body, { limits: { pods: null } });
  t.match(await run(['environment', 'update', 'staging']), { code: 2, stderr: /Nothing to change/ });
  t.match(await run(['environment', 'delete', 'staging']), { code: 2, stderr: /Type staging to confirm/ });
  t.notOk(
    seen.some(({ method }) => method === 'DELETE'),
    'nothing is deleted without a confirmation',
  );
  t.match(await run(['environment', 'delete', 'staging', '--yes']), { code: 0, stderr: /staging is deleted/ });
});

t.test('every list is a bare array with -o json, also an empty one', async (t) => {
  const project = '/api/v1/projects/shop';
  const lists: [string[], string][] = [
    [['project', 'list'], '/api/v1/projects'],
    [['environment', 'list'], `${project}/environments`],
    [['app', 'list'], apps],
    [['app', 'history', 'api'], `${apps}/api/history`],
    [['function', 'list'], `${project}/functions`],
    [['plan', 'list'], `${project}/plans`],
    [['key', 'list'], `${project}/api-keys`],
  ];
  const { run } = await world(t, Object.fromEntries(lists.map(([, path]) => [`GET ${path}`, { body: { items: [] } }])));
  for (const [command] of lists) {
    const typed = command.join(' ');
    const expected = { json: '[]\n', yaml: '[]\n', name: '' };
    for (const [format, stdout] of Object.entries(expected)) {
      t.same(await run([...command, '-o', format]), { code: 0, stdout, stderr: '' }, `${typed} -o ${format}`);
    }
    t.match(await run(command), { code: 0, stdout: /^[A-Z][A-Z/ ]+\n$/ }, `${typed}: its heading`);
  }
});

t.test('functions', async (t) => {
  const view = {
    id,
    name: 'hello',
    project: 'shop',
    environment: 'prod',
    runtime: 'node',
    trigger: 'http',
    status: 'idle',
    url: 'https://fn-hello--home.apps.example.com',
    replicas: 0,
    readyReplicas: 0,
    idleTimeoutSeconds: 10,
    concurrency: 4,
    targetRate: 900,
    requestTimeoutSeconds: 60,
    minReplicas: 1,
    maxReplicas: 3,
    env: {},
    volumes: [],
    createdAt,
  };
  const functions = '/api/v1/projects/shop/functions';
  const gone = { status: 404, body: { code: 'not_found', message: 'There is no function.' } };
  const { run, seen, routes } = await world(t, {
    [`POST ${functions}`]: { status: 201, body: { ...view, status: 'pending' } },
    [`GET ${functions}/hello`]: sequence(
      { body: { ...view, status: 'pending' } },
      { body: { ...view, replicas: 1, readyReplicas: 1 } },
    ),
    [`GET ${functions}/bye`]: { body: { ...view, name: 'bye' } },
    'GET /api/v1/functions': { body: { items: [view] } },
    [`GET ${functions}`]: { body: { items: [view] } },
  });
  const file = join(t.testdir({ 'hello.js': 'export const handler = 1;\n' }), 'hello.js');
  const create = ['function', 'create', 'hello', '--runtime', 'node', '--code-file', file, '--idle-timeout', '10s'];
  const limits = [
    '--concurrency',
    '4',
    '--target-rate',
    '900',
    '--request-timeout',
    '1m',
    '--min-replicas',
    '1',
    '--max-replicas',
    '3',
  ];
  const created = await run([...create, ...limits]);
  t.equal(created.code, 0, created.stderr);
  t.same(seen[0]?.body, {
    name: 'hello',
    runtime: 'node',
    code: 'export const handler = 1;\n',
    idleTimeoutSeconds: 10,
    concurrency: 4,
    targetRate: 900,
    requestTimeoutSeconds: 60,
    minReplicas: 1,
    maxReplicas: 3,
  });
  t.match(created.stdout, 'https://fn-hello--home.apps.example.com');
  t.match(created.stdout, /Scale: +1 to 3 pods\n/);
  t.match(created.stdout, /Concurrency: +4 requests per pod/);
  t.match(created.stdout, /Target rate: +900 requests per second and pod/);
  t.match((await run(['function', 'list'], { env: { SVC_PROJECT: '' } })).stdout, /hello +shop\/prod +idle/);
  t.match((await run(['function', 'list'])).stdout, /hello +idle/);

  const missing = await run(['function', 'delete', 'bye', 'helo', '--yes']);
  t.equal(missing.code, 1);
  t.notOk(
    seen.some(({ method }) => method === 'DELETE'),
    'a wrong name deletes nothing',
  );
  for (const name of ['hello', 'bye']) {
    routes[`DELETE ${functions}/${name}`] = () => {
      routes[`GET ${functions}/${name}`] = gone;
      return { status: 204 };
    };
  }
  t.match(await run(['function', 'delete', 'hello', 'bye', '--yes']), {
    code: 0,
    stderr: /hello is deleted\n.*bye is deleted/,
  });

  routes[`GET ${functions}/hello`] = { body: { ...view, status: 'failed', message: 'the name is taken' } };
  t.match(await run(create), { code: 1, stdout: '', stderr: /Function "hello" failed: the name is taken/ });
});

t.test('every command that deletes takes --yes', async (t) => {
  const verbs = new Set([
    'delete',
    'remove',
    'disable',
    'unbind',
    'purge',
    'revoke',
    'cancel',
    'down',
    'reset-password',
  ]);
  const check = async ({ commands, groups = [] }: Group, path: string): Promise<void> => {
    for (const { name, flags } of commands) {
      if (verbs.has(name)) t.equal(flags['yes']?.short, 'y', `${path} ${name}`);
    }
    for (const group of groups) await check(await loadGroup(group), `${path} ${group.name}`);
  };
  await check(await loadGroup(rootGroup), 'svc');
});

t.test('a platform on a cluster has no local process, and svc down does not stop it', async (t) => {
  const { run, routes, api } = await world(t);
  const local = { target: 'cluster', api, process: undefined } as const;
  routes['GET /health/controllers'] = {
    body: { healthy: true, managerStarted: true, cacheSynced: true, controllers: [] },
  };
  const anonymous = { env: { SVC_TOKEN: '' } };
  const status = await run(['status'], { ...anonymous, local });
  t.equal(status.code, 0, status.stderr);
  t.notMatch(status.stdout, /Process/);
  const stopped = { ...local, target: 'local' } as const;
  t.match(await run(['status'], { ...anonymous, local: stopped }), { code: 1, stderr: /is not running.*not_running/s });
  t.match((await run(['status'], { ...anonymous, local: { ...stopped, process: 7 } })).stdout, /Process: +7/);
  const message = 'back-off 300s restarting failed container=svc-workers pod=svc-workers-x_svc-system';
  const waitingProcesses = () => Promise.resolve([{ name: 'svc-workers', message }]);
  const waiting = { ...stopped, process: 7, waitingProcesses };
  t.match(await run(['status'], { ...anonymous, local: waiting }), {
    code: 1,
    stdout: /svc-workers +back-off\n/,
    stderr:
      /Not healthy: svc-workers\. \(unhealthy\)\nhint: svc-workers: crashed and starts again after 300s; svc down && svc up/,
  });
  const dead = { ...waiting, api: 'http://127.0.0.1:1' };
  t.match(await run(['status', '--api', dead.api], { ...anonymous, local: dead }), {
    code: 1,
    stderr: /unreachable[^]*hint: svc-workers: crashed and starts again after 300s/,
  });

  const folder = t.testdir({ 'run.json': JSON.stringify({ target: 'cluster', api }) });
  t.match(localPlatform({ SVC_HOME: folder }), local);
  for (const flags of [[], ['--purge', '--yes']]) {
    const refused = await run(['down', ...flags], { env: { SVC_HOME: folder } });
    t.match(refused, { code: 1, stderr: /runs on a cluster.*not_on_this_machine.*testcluster -- down/s });
  }
  t.ok(existsSync(join(folder, 'run.json')));
});

t.test('status ends with 1 when a part does not work', async (t) => {
  const health = {
    healthy: true,
    managerStarted: true,
    cacheSynced: true,
    controllers: [{ name: 'App', registered: true }],
  };
  const platform = {
    version: '1',
    cluster: 'home',
    appsDomain: 'apps.example.com',
    components: [{ name: 'database', status: 'on' }],
  };
  const { run, routes } = await world(t, {
    'GET /health/controllers': { body: health },
    'GET /api/v1/platform/status': { body: platform },
  });
  const healthyRun = await run(['status']);
  t.equal(healthyRun.code, 0, healthyRun.stderr);
  t.match(healthyRun.stdout, /controllers +on\ndatabase +on/);
  t.match(await run(['status'], { env: { SVC_TOKEN: '' } }), { code: 0, stderr: /sign in to see more/ });
  routes['GET /health/controllers'] = {
    status: 503,
    body: { ...health, healthy: false, cacheSynced: false, controllers: [{ name: 'App', registered: false }] },
  };
  const unhealthyRun = await run(['status', '-o', 'json']);
  t.equal(unhealthyRun.code, 1);
  t.match(unhealthyRun.stderr, /Not healthy: controllers.*\n.*not synced; App is not registered/);
  t.equal((JSON.parse(unhealthyRun.stdout) as { healthy: boolean }).healthy, false);
});
