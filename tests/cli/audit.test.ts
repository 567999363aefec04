import t from 'tap';
import { id, now, world } from './world.ts';

const path = '/api/v1/projects/shop/audit';
const entry = {
  id,
  at: '2026-11-21T11:58:00Z',
  action: 'app.update',
  actor: 'dana@example.com',
  token: { id, name: 'ci' },
  project: 'shop',
  environment: 'prod',
  object: { kind: 'app', name: 'api' },
  details: { settings: ['replicas'] },
};
const other = {
  id,
  at: '2026-11-21T11:00:00Z',
  action: 'platform.config.update',
  actor: 'admin@svc.local',
  details: {},
};

t.test('audit lists the entries of the project, and passes the filters on', async (t) => {
  const { run, seen } = await world(t, { [`GET ${path}`]: { body: { items: [entry] } } });
  const listed = await run(['audit']);
  t.match(listed, { code: 0, stderr: '' });
  t.match(listed.stdout, /^WHEN +ACTOR +ACTION +ENVIRONMENT +OBJECT\n/);
  t.match(listed.stdout, /^2 minutes ago +dana@example\.com \(token ci\) +app\.update +prod +app\/api$/m);
  t.same(seen[0]?.query, { limit: '50' }, 'of all environments, whatever the shell’s environment is');
  await run(
    [
      'audit',
      '--action',
      'app.',
      '--actor',
      'a@b.c',
      '--object',
      'api',
      '-e',
      'prod',
      '--since',
      '24h',
      '--limit',
      '2',
    ],
    { env: { SVC_ENVIRONMENT: 'dev' } },
  );
  const since = new Date(now.getTime() - 86_400_000).toISOString();
  t.same(seen.at(-1)?.query, { action: 'app.', actor: 'a@b.c', object: 'api', environment: 'prod', since, limit: '2' });
  t.same(JSON.parse((await run(['audit', '-o', 'json'])).stdout), [entry]);
  t.equal((await run(['audit', '-o', 'name'])).stdout, `${id}\n`);
});

t.test('audit --platform lists all of it, and only --project limits it', async (t) => {
  const { run, seen } = await world(t, {
    'GET /api/v1/platform/audit': { body: { items: [other, entry], nextCursor: id } },
  });
  const { stdout, stderr } = await run(['audit', '--platform', '--until', '1h']);
  t.match(stdout, /^WHEN +ACTOR +ACTION +PROJECT +ENVIRONMENT +OBJECT\n/);
  t.match(stdout, /^1 hour ago +admin@svc\.local +platform\.config\.update +- +- +-$/m);
  t.match(stderr, /more entries are older than these 50; see --limit and --until/);
  t.same(seen[0]?.query, { until: new Date(now.getTime() - 3_600_000).toISOString(), limit: '50' });
  await run(['audit', '--platform', '--project', 'blog']);
  t.same(seen.at(-1)?.query, { project: 'blog', limit: '50' });
});

t.test('audit says that nothing matches, and what the API refuses', async (t) => {
  const refusal = { code: 'forbidden', message: 'This requires the role "admin" in the project "shop".' };
  const { run, routes } = await world(t, { [`GET ${path}`]: { body: { items: [] } } });
  t.match(await run(['audit']), { code: 0, stderr: 'no entries match\n' });
  routes[`GET ${path}`] = { status: 403, body: refusal };
  t.match(await run(['audit']), { code: 1, stderr: /\(forbidden\)/ });
  t.match(await run(['audit', '--since', '91d']), { code: 2, stderr: /of up to 90d/ });
});
