import t from 'tap';
import { createdAt, id, world } from './world.ts';

const path = '/api/v1/projects/shop/tokens';
const expiresAt = '2027-02-19T12:00:00.000Z';
const ci = {
  id,
  name: 'ci',
  handle: 'k3x9q2ab',
  scopes: ['logs:read', 'deploy'],
  environment: 'prod',
  status: 'active',
  createdAt,
  createdBy: 'dana@example.com',
  expiresAt,
  lastUsedAt: '2026-11-21T11:58:00Z',
};
const full = `svct_k3x9q2ab_${'s'.repeat(46)}`;

t.test('token create prints only the token, and says how programs use it', async (t) => {
  const { run, seen, api } = await world(t, { [`POST ${path}`]: { status: 201, body: { ...ci, token: full } } });
  const create = ['token', 'create', 'ci', '--scope', 'deploy,logs:read', '--environment', 'prod'];
  const created = await run([...create, '--expires', '90d']);
  t.equal(created.code, 0);
  t.equal(created.stdout, `${full}\n`);
  t.match(created.stderr, /store the token ci now, it is not shown again; it expires at 2027-02-19/);
  t.match(created.stderr, `SVC_API=${api} SVC_PROJECT=shop`);
  t.notMatch(created.stderr, 'sss');
  t.same(seen[0]?.body, { name: 'ci', scopes: ['deploy', 'logs:read'], environment: 'prod', expiresAt });
  await run(['token', 'create', 'ci', '--scope', 'read', '--scope', 'logs:read']);
  t.same(seen.at(-1)?.body, { name: 'ci', scopes: ['read', 'logs:read'] }, 'all environments, 90 days');
  t.match(JSON.parse((await run([...create, '-o', 'json'])).stdout), { name: 'ci', token: full });
  const count = seen.length;
  t.match(await run(['token', 'create', 'ci']), { code: 2, stderr: /--scope is required: .*read, logs:read, deploy/ });
  t.match(await run(['token', 'create', 'ci', '--scope', 'admin']), { code: 2, stderr: /not "admin"/ });
  t.match(await run([...create, '--expires', 'never']), { code: 2, stderr: /--expires takes a date/ });
  t.equal(seen.length, count, 'nothing was sent');
});

t.test('token list and show', async (t) => {
  const other = { ...ci, name: 'old', status: 'inactive', environment: undefined, lastUsedAt: undefined };
  const { run } = await world(t, {
    [`GET ${path}`]: { body: { items: [ci, other] } },
    [`GET ${path}/ci`]: { body: ci },
  });
  const list = (await run(['token', 'list'])).stdout;
  t.match(list, /^TOKEN +SCOPES +ENVIRONMENT +STATUS +EXPIRES +LAST USED +CREATED BY/);
  t.match(list, /^ci +logs:read,deploy +prod +active +2027-02-19\S+ +2 minutes ago +dana@example.com/m);
  t.match(list, /^old +logs:read,deploy +all +its user is disabled or has no role +\S+ +never/m);
  const shown = (await run(['token', 'show', 'ci'])).stdout;
  t.match(shown, /Begins with: +svct_k3x9q2ab_/);
  t.match(shown, /Last used: +2 minutes ago/);
});

t.test('token revoke, delete and rm', async (t) => {
  const { run, seen } = await world(t, { [`GET ${path}/ci`]: { body: ci }, [`DELETE ${path}/ci`]: { status: 204 } });
  for (const verb of ['revoke', 'delete', 'rm']) {
    t.match(await run(['token', verb, 'ci', '--yes']), { code: 0, stdout: '', stderr: 'token ci is revoked\n' }, verb);
  }
  t.equal(seen.filter(({ method }) => method === 'DELETE').length, 3);
  t.match(await run(['token', 'revoke', 'ci']), { code: 2, stderr: /--yes/ }, 'without a terminal');
  t.match(await run(['token', 'revoke', 'none', '--yes']), { code: 1, stderr: /not_found/ });
});

t.test('whoami describes the token in SVC_TOKEN; a refused one is not mended by signing in', async (t) => {
  const { name, scopes, environment } = ci;
  const token = { name, project: 'shop', environment, scopes, projectRole: 'deployer', expiresAt };
  const { run, seen, routes } = await world(t, {
    'GET /api/v1/session': { body: { email: 'dana@example.com', role: 'member', token } },
  });
  const env = { SVC_TOKEN: full };
  const { stdout } = await run(['whoami'], { env });
  t.equal(seen[0]?.headers.authorization, `Bearer ${full}`);
  for (const line of [/Token: +ci/, /Acts for: +dana@example.com, deployer/, /Scopes: +logs:read, deploy/]) {
    t.match(stdout, line);
  }
  t.match(stdout, /Environment: +prod/);
  t.equal((await run(['whoami', '-o', 'name'], { env })).stdout, 'ci\n');
  routes['GET /api/v1/session'] = { status: 401, body: { code: 'unauthenticated', message: 'Revoked.' } };
  t.match(await run(['whoami'], { env }), { code: 4, stderr: /replace the value of SVC_TOKEN: svc token create/ });
  t.match(await run(['whoami']), {
    code: 4,
    stderr: /replace the value of SVC_TOKEN, or unset it and sign in: svc login/,
  });
});
