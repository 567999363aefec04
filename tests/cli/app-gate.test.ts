import t from 'tap';
import { sequence, world } from './world.ts';

const path = '/api/v1/projects/shop/apps/api/gate';
const since = '2026-11-21T11:58:00.000Z';

t.test('gate enable waits until the ingress demands a key, and says what is missing', async (t) => {
  const unseen = {
    gate: 'applying',
    since,
    message: 'The route is not yet protected. The ingress has not applied the change yet.',
  };
  const gated = { gate: 'gated', since, message: 'The ingress refuses requests without an API key.' };
  const { run, seen, routes } = await world(t, {
    [`PUT ${path}`]: { body: { gate: 'applying' } },
    [`GET ${path}`]: sequence({ body: { gate: 'applying' } }, { body: unseen }, { body: unseen }, { body: gated }),
  });
  t.same(await run(['app', 'gate', 'enable', 'api']), {
    code: 0,
    stdout: 'gated\n',
    stderr: [
      'api: applying; not protected yet\n',
      'api: applying. The route is not yet protected. The ingress has not applied the change yet\n',
    ].join(''),
  });
  t.same(seen[0]?.body, { enabled: true });
  const json = await run(['app', 'gate', 'enable', 'api', '-o', 'json']);
  t.same(JSON.parse(json.stdout), { app: 'api', ...gated });
  t.equal((await run(['app', 'gate', 'enable', 'api', '-o', 'name'])).stdout, 'api\n');

  routes[`GET ${path}`] = { body: unseen };
  t.match(await run(['app', 'gate', 'enable', 'api', '--timeout', '2s']), {
    code: 3,
    stdout: '',
    stderr: /not applied the change yet\. \(timeout\)\nhint: check with: svc app gate status api --project shop/,
  });
});

t.test('gate disable waits until the ingress demands none', async (t) => {
  const { run, seen } = await world(t, {
    [`PUT ${path}`]: { body: { gate: 'lifting' } },
    [`GET ${path}`]: sequence(
      { body: { gate: 'lifting' } },
      { body: { gate: 'off', since, message: 'The route is open.' } },
    ),
  });
  t.same(await run(['app', 'gate', 'disable', 'api']), {
    code: 0,
    stdout: 'off\n',
    stderr: 'api: lifting; not open yet\n',
  });
  t.same(seen[0]?.body, { enabled: false });
  t.same(await run(['app', 'gate', 'disable', 'api', '--no-wait']), { code: 0, stdout: 'lifting\n', stderr: '' });
});

t.test('gate status shows the phase, its time, and the observed answer', async (t) => {
  const view = { gate: 'applying', since, message: 'Nobody can be asked.' };
  const { run, routes } = await world(t, { [`GET ${path}`]: { body: view } });
  t.equal(
    (await run(['app', 'gate', 'status', 'api'])).stdout,
    `Gate:     applying\nSince:    ${since} (2 minutes ago)\nMessage:  Nobody can be asked.\n`,
  );
  t.same(JSON.parse((await run(['app', 'gate', 'status', 'api', '-o', 'json'])).stdout), { app: 'api', ...view });
  t.match((await run(['app', 'gate', 'status', 'api', '-o', 'yaml'])).stdout, 'gate: applying');
  routes[`GET ${path}`] = { body: { gate: 'off' } };
  t.equal((await run(['app', 'gate', 'status', 'api'])).stdout, 'Gate:  off\n');
});
