import t from 'tap';
import { accepted, app, deployment, id, sequence, world } from './world.ts';

const project = '/api/v1/projects/shop';
const one = `${project}/deployments/${id}`;
const rolling = { ...deployment, status: 'rolling_out', current: false };

t.test('deployment list filters, and shows every app', async (t) => {
  const failed = { ...deployment, status: 'failed', reason: 'no pull\nlog line', environment: 'prod', current: false };
  const times = { startedAt: '2026-11-21T11:00:00Z', endedAt: '2026-11-21T11:02:05Z' };
  const { run, seen } = await world(t, {
    [`GET ${project}/deployments`]: { body: { items: [{ ...failed, ...times }] } },
  });
  const ran = await run(['deployment', 'list', '--app', 'api', '--status', 'failed', '-e', 'prod', '--limit', '5']);
  t.match(ran.stdout, /api +prod +2 +failed +manual +- +r\.example\.com\/api:2 +1 hour ago +2 minutes +no pull\n/);
  t.match(seen[0]?.query, { app: 'api', status: 'failed', environment: 'prod', limit: '5' });
  t.match(await run(['deployment', 'list', '--status', 'gone']), {
    code: 2,
    stderr: /--status must be one of accepted/,
  });
  t.equal((await run(['deployment', 'list', '-o', 'name'])).stdout, `${id}\n`);
});

t.test('deployment show, logs and cancel', async (t) => {
  const { run, seen } = await world(t, {
    [`GET ${one}`]: {
      body: {
        ...deployment,
        environment: 'prod',
        promotedFrom: { environment: 'dev', revision: 7 },
        trigger: 'promotion',
        acceptedAt: '2026-11-21T11:00:00Z',
        startedAt: '2026-11-21T11:00:01Z',
        endedAt: '2026-11-21T11:01:01Z',
      },
    },
    [`GET ${one}/logs`]: {
      body: {
        build: { text: 'step 1\n', truncated: true },
        pods: [{ name: 'api-1', log: 'a\nb\n', truncated: true }, { name: 'api-2' }],
      },
    },
    [`POST ${one}/cancel`]: { body: { ...deployment, status: 'cancelled', rolledBackTo: 1 } },
  });
  const view = (await run(['deployment', 'show', id])).stdout;
  t.match(view, /Promoted from: +dev, revision 7\n/);
  t.match(view, /Accepted: +2026-11-21T11:00:00Z\nTook: +1 minute\n/);
  const logs = await run(['deployment', 'logs', id]);
  t.equal(logs.stdout, 'step 1\napi-1 | a\napi-1 | b\n');
  t.match(logs.stderr, /^the build log is truncated\nthe log of pod api-1 is truncated\n$/);
  t.match(await run(['deployment', 'cancel', id, '--yes']), { code: 0, stderr: /api is rolling back to revision 1/ });

  for (const words of [['show'], ['logs'], ['cancel', '--yes']]) {
    t.equal((await run(['deployment', ...words, id, '-e', 'prod'])).code, 0, words.join(' '));
    const before = seen.length;
    t.match(await run(['deployment', ...words, id, '-e', 'dev']), {
      code: 1,
      stderr: /is in the environment "prod", not "dev". \(not_found\)/,
    });
    t.match(seen.slice(before), [{ method: 'GET' }], 'and nothing is done');
    t.equal((await run(['deployment', ...words, id], { env: { SVC_ENVIRONMENT: 'dev' } })).code, 0, 'an id is enough');
  }
});

t.test('deployment cancel asks about a deployment that exists and is in progress', async (t) => {
  const conflict = { code: 'conflict', message: 'Revision 2 has already ended (succeeded).' };
  const { run, seen } = await world(t, {
    [`GET ${one}`]: sequence({ body: rolling }, { body: rolling }, { body: deployment }),
    [`POST ${one}/cancel`]: sequence({ body: { ...deployment, status: 'cancelled' } }, { status: 409, body: conflict }),
  });
  t.match(await run(['deployment', 'cancel', 'nope']), { code: 1, stderr: /\(not_found\)/ }, 'no question');
  const typed = await run(['deployment', 'cancel', id], { typed: ['n\n'] });
  t.match(typed, { code: 1, stderr: /Cancel revision 2 of api in shop\? \[y\/N\].*\n.*\(not_confirmed\)/s });
  t.same(
    seen.map(({ method }) => method),
    ['GET', 'GET'],
  );
  t.equal((await run(['deployment', 'cancel', id], { typed: ['y\n'] })).code, 0);
  const ended = await run(['deployment', 'cancel', id]);
  t.match(ended, { code: 1, stderr: /^error: Revision 2 has already ended/ }, 'no question about one that has ended');
});

t.test('deployment show keeps the lines of a stack trace', async (t) => {
  const trace = 'The pods did not get ready.\nError: no database\n    at start (/app/server.js:3:9)\n\nNode.js v24';
  const failed = { ...deployment, status: 'failed', reason: trace, current: false };
  const { run } = await world(t, { [`GET ${one}`]: { body: failed } });
  const { stdout } = await run(['deployment', 'show', id]);
  const [, first = '', ...others] = /^(Reason: +)(.*)\n( .*)\n( .*)\n\n( .*)$/m.exec(stdout) ?? [];
  const indented = trace.split('\n').filter(Boolean).slice(1);
  t.same(others, ['The pods did not get ready.', ...indented.map((line) => ' '.repeat(first.length) + line)]);
});

t.test('promote --create creates the app, and says what it does not bring with the commands', async (t) => {
  const created = { ...app, environment: 'live', gate: 'applying', volumes: [{ name: 'shared', path: '/shared' }] };
  const notCopied = {
    secrets: ['OTHER'],
    hosts: ['www.example.com'],
    volumes: [{ name: 'data', path: '/data' }],
    git: 'https://git.example.com/api',
  };
  const { run, seen } = await world(t, {
    [`POST ${project}/apps/api/promote`]: { status: 201, body: { app: created, notCopied } },
    [`GET ${project}/apps/api`]: { body: { ...created, gate: 'gated' } },
    [`GET ${project}/apps/api/history`]: { body: { items: [deployment] } },
  });
  const promote = ['app', 'promote', 'api', '--from', 'dev', '--to', 'live'];
  const ran = await run([...promote, '--create', '--secret', 'KEY'], { env: { KEY: 'of-shell' } });
  t.match(ran, { code: 0, stdout: /Environment: +live/ });
  const scope = '--project shop --environment live';
  t.equal(
    ran.stderr,
    [
      `not copied: the secret OTHER; set it with: svc app secret set api OTHER --restart ${scope}`,
      `not copied: the host www.example.com; add a host of live with: svc app host add api <host> ${scope}`,
      `not copied: the volume data; create it with: svc volume create data --size <size> ${scope}`,
      `then mount the volumes with: svc app update api --volume shared:/shared --volume data:/data ${scope}`,
      'not copied: the git source; deploy its next images with: svc app promote api --from <environment> --to live',
      `not copied: API keys, which the app requires; create one with: svc key create ${scope}`,
      '',
    ].join('\n'),
  );
  t.same(seen[0]?.body, { from: 'dev', to: 'live', create: true, secrets: { KEY: 'of-shell' } });
  t.match(await run([...promote, '--secret', 'KEY']), { code: 2, stderr: /--secret requires --create/ });
});

t.test('deploy and promote follow to the end; --wait is accepted', async (t) => {
  const { run, seen } = await world(t, {
    [`PATCH ${project}/apps/api`]: { status: 202, body: accepted },
    [`POST ${project}/apps/api/promote`]: { status: 202, body: accepted },
    [`GET ${one}`]: sequence({ body: rolling }, { body: deployment }),
    [`GET ${project}/apps/api`]: {
      body: { ...app, replicas: 3, readyReplicas: 4, rollout: { revision: 2, readyReplicas: 1 } },
    },
  });
  const ran = await run(['app', 'deploy', 'api', '--image', 'r.example.com/api:2', '--commit', 'abc', '--wait']);
  t.match(ran, { code: 0, stdout: /Status: +succeeded/ });
  t.equal(ran.stderr, 'api revision 2: rolling out, 1 of 3 new pods ready\n', 'plain lines without a terminal');
  t.same(seen[0]?.body, { image: 'r.example.com/api:2', commit: 'abc' });
  t.match(await run(['app', 'promote', 'api', '--from', 'dev', '--to', 'prod']), { code: 0, stdout: /Revision: +2/ });
  const sent = seen.find(({ method }) => method === 'POST');
  t.match(sent, { body: { from: 'dev', to: 'prod' }, query: {} });
  t.match(await run(['app', 'promote', 'api', '--to', 'prod']), {
    code: 2,
    stderr: /--from <environment> is required/,
  });
  t.match(await run(['app', 'deploy', 'api']), { code: 2, stderr: /Use --image, --commit or both/ });
  t.match(await run(['app', 'deploy', 'api', '--image', 'x', '--no-wait']), {
    stdout: 'revision 2 of api is accepted\n',
  });
});

t.test('a terminal shows one line that is rewritten, and the time it took', async (t) => {
  const { run } = await world(t, {
    [`PATCH ${project}/apps/api`]: { status: 202, body: accepted },
    [`GET ${one}`]: sequence({ body: rolling }, { body: rolling }, { body: rolling }, { body: deployment }),
    [`GET ${project}/apps/api`]: { body: { ...app, rollout: { revision: 2, readyReplicas: 0 } } },
  });
  const deploy = ['app', 'deploy', 'api', '--image', 'r.example.com/api:2'];
  const line = 'api revision 2: rolling out, 0 of 1 new pods ready';
  const erase = '\r\u001B[2K';
  const ran = await run(deploy, { terminal: true });
  t.equal(ran.stderr, `${erase}${line}, 0 s${erase}${line}, 0 s${erase}${line}, 1 s${erase}`);
  t.notOk(ran.stdout.includes(erase));
});

t.test('0, 1 and 3: succeeded, failed, not ended in time; Ctrl-C says that the operation continues', async (t) => {
  const { run, routes } = await world(t, {
    [`PATCH ${project}/apps/api`]: { status: 202, body: accepted },
    [`GET ${project}/apps/api`]: { body: app },
  });
  const deploy = ['app', 'deploy', 'api', '--image', 'r.example.com/api:2', '--timeout', '5s'];
  routes[`GET ${one}`] = { body: { ...deployment, status: 'failed', reason: 'no pull' } };
  const log = `full logs: svc deployment logs ${id} --project shop`;
  const message = 'error: Revision 2 of api failed: no pull (deployment_failed)';
  t.match(await run(deploy), { code: 1, stderr: `${message}\nhint: ${log}\n` });
  routes[`GET ${project}/apps/api/history`] = {
    body: { items: [{ ...deployment, status: 'failed', current: false }] },
  };
  t.match(await run(deploy), { code: 1, stderr: `${message}\nhint: api has never run; ${log}\n` });
  routes[`GET ${project}/apps/api/history`] = { body: { items: [deployment] } };
  t.match(await run(deploy), { code: 1, stderr: `${message}\nhint: the previous revision keeps serving; ${log}\n` });
  routes[`GET ${one}`] = { body: { ...deployment, status: 'failed', reason: 'no pull', rolledBackTo: 1 } };
  t.match(await run(deploy), {
    code: 1,
    stderr: /hint: the previous revision keeps serving: rolling back to revision 1\n/,
  });
  routes[`GET ${project}/apps/api`] = { body: { ...app, readyReplicas: 0 } };
  t.match(await run(deploy), { code: 1, stderr: /hint: api has no running pods: rolling back to revision 1\n/ });
  routes[`GET ${one}`] = { body: { ...deployment, status: 'failed', reason: 'no pull' } };
  t.match(await run(deploy), { code: 1, stderr: `${message}\nhint: api has no running pods; ${log}\n` });
  routes[`GET ${project}/apps/api`] = { status: 404, body: { code: 'not_found', message: 'There is none.' } };
  t.match(await run(deploy), { code: 1, stderr: `${message}\nhint: ${log}\n` }, 'the result is unknown');
  routes[`GET ${project}/apps/api`] = { body: app };
  routes[`GET ${one}`] = { body: rolling };
  t.match(await run(deploy), {
    code: 3,
    stderr: /after 5 seconds.*\(timeout\)\nhint: check with: svc app history api/,
  });
  const interrupted = await run(deploy, { interruptAt: 'rolling out' });
  t.match(interrupted, { code: 130, stderr: /The operation continues\. \(interrupted\)\nhint: check with: svc app/ });
});

t.test('app diff shows what a revision changed, and never the value of a secret', async (t) => {
  const differences = [
    { kind: 'deployment', name: 'image', change: 'changed', before: 'api:1', after: 'api:2', restorable: true },
    { kind: 'setting', name: 'memory', change: 'added', after: '1Gi', restorable: true },
    { kind: 'variable', name: 'LEVEL', change: 'changed', before: 'a\u001B[2J\nb', after: 'info', restorable: true },
    { kind: 'variable', name: 'OLD', change: 'removed', restorable: true },
    { kind: 'secret', name: 'TOKEN', change: 'changed', restorable: true },
  ];
  const comparison = { revision: 1, differences, unknown: ['replicas', 'secrets'] };
  const revisions = `${project}/apps/api/revisions`;
  const { run, seen, routes } = await world(t, {
    [`GET ${project}/apps/api/history`]: { body: { items: [rolling, deployment] } },
    [`GET ${revisions}/2`]: { body: { deployment, comparison } },
    [`GET ${revisions}/1`]: { body: { deployment } },
  });
  const ran = await run(['app', 'diff', 'api']);
  t.equal(
    ran.stdout,
    `KIND       NAME     CHANGE    BEFORE        AFTER
image      image    changed   api:1         api:2
setting    memory   added     -             1Gi
variable   LEVEL    changed   a [2J b       info
variable   OLD      removed   (not shown)   -
secret     TOKEN    changed   (not shown)   (not shown)
`,
  );
  t.equal(
    ran.stderr,
    'revision 2 of api, compared with revision 1\nnot compared, because they are not stored for both: replicas, secrets\n',
  );
  t.match(JSON.parse((await run(['app', 'diff', 'api', '-o', 'json'])).stdout), { comparison });
  t.equal((await run(['app', 'diff', 'api', '-o', 'name'])).stdout, 'image\nmemory\nLEVEL\nOLD\nTOKEN\n');

  routes[`GET ${revisions}/2`] = { body: { deployment, comparison: { differences: [], unknown: [] } } };
  t.match(await run(['app', 'diff', 'api', '--revision', '2', '--compare-with', 'now']), {
    stdout: 'no differences\n',
    stderr: 'revision 2 of api, compared with the current state of the app\n',
  });
  t.match(seen.at(-1)?.query, { compareWith: 'now' });
  t.match(await run(['app', 'diff', 'api', '--revision', '1']), { stderr: 'nothing ran before revision 1 of api\n' });
  for (const other of ['0', 'later', '99999999999']) {
    t.match(await run(['app', 'diff', 'api', '--compare-with', other]), { code: 2, stderr: /--compare-with must be/ });
  }
  routes[`GET ${project}/apps/api/history`] = { body: { items: [rolling] } };
  t.match(await run(['app', 'diff', 'api']), { code: 1, stderr: /No revision of api has succeeded yet/ });
});
