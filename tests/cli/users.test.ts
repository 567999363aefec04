import t from 'tap';
import { createdAt, id, world } from './world.ts';

const users = '/api/v1/users';
const user = { id, email: 'dana@example.com', role: 'member', status: 'active', createdAt };
const invited = {
  ...user,
  status: 'invited',
  passwordExpiresAt: '2026-11-28T12:00:00.000Z',
  oneTimePassword: 'aaaaa-bbbbb',
};

t.test('user create prints only the one-time password, or reads one from stdin', async (t) => {
  const { run, seen, api, routes } = await world(t, { [`POST ${users}`]: { status: 201, body: invited } });
  t.same(await run(['user', 'create', 'dana@example.com', '--role', 'admin']), {
    code: 0,
    stdout: 'aaaaa-bbbbb\n',
    stderr: `store the one-time password of dana@example.com now, it is not shown again and expires in 7 days: svc login --api ${api} --email dana@example.com\n`,
  });
  t.same(seen[0]?.body, { email: 'dana@example.com', role: 'admin' });
  t.match(JSON.parse((await run(['user', 'create', 'x@y', '-o', 'json'])).stdout), { oneTimePassword: 'aaaaa-bbbbb' });
  routes[`POST ${users}`] = { status: 201, body: user };
  const creation = await run(['user', 'create', 'dana@example.com', '--password-stdin'], {
    stdin: 'a long password\n',
  });
  t.match(creation, { code: 0, stdout: /^USER .*\ndana@example.com +member +active +1 hour ago\n$/ });
  t.same(seen.at(-1)?.body, { email: 'dana@example.com', password: 'a long password' });
});

t.test('user list, show, update, reset-password and delete', async (t) => {
  const one = `${users}/dana%40example.com`;
  const { run, seen } = await world(t, {
    [`GET ${users}`]: { body: { items: [user] } },
    [`GET ${one}`]: { body: user },
    [`PATCH ${one}`]: { body: { ...user, status: 'disabled' } },
    [`POST ${one}/password`]: { body: invited },
    [`DELETE ${one}`]: { status: 204 },
  });
  t.match(await run(['user', 'list', '-o', 'name']), { code: 0, stdout: 'dana@example.com\n' });
  t.match(JSON.parse((await run(['user', 'show', 'dana@example.com', '-o', 'json'])).stdout), user);
  t.match(await run(['user', 'update', 'dana@example.com', '--disable']), { code: 0, stdout: /disabled/ });
  t.same(seen.at(-1)?.body, { disabled: true });
  await run(['user', 'update', 'dana@example.com', '--enable', '--role', 'admin']);
  t.same(seen.at(-1)?.body, { role: 'admin', disabled: false });
  for (const flags of [[], ['--disable', '--enable']]) {
    t.equal((await run(['user', 'update', 'dana@example.com', ...flags])).code, 2);
  }
  const reset = ['user', 'reset-password', 'dana@example.com'];
  t.equal((await run(reset)).code, 2, 'no terminal for a confirmation');
  t.match(await run([...reset, '--yes']), { code: 0, stdout: 'aaaaa-bbbbb\n' });
  t.same(seen.at(-1)?.body, {});
  await run([...reset, '--password-stdin'], { stdin: 'a long password' });
  t.same(seen.at(-1)?.body, { password: 'a long password' });
  t.match(await run(['user', 'delete', 'dana@example.com'], { typed: ['n\r'] }), { code: 1 });
  t.equal(seen.filter(({ method }) => method === 'DELETE').length, 0);
  t.match(await run(['user', 'delete', 'dana@example.com', '--yes']), { code: 0, stderr: /is deleted/ });
});

t.test('user delete names the projects that lose their only admin, before it asks', async (t) => {
  const one = `${users}/dana%40example.com`;
  const { run, seen, routes } = await world(t, {
    [`GET ${one}`]: { body: { ...user, onlyAdminOf: ['shop'] } },
    [`DELETE ${one}`]: { status: 204 },
  });
  const remove = ['user', 'delete', 'dana@example.com'];
  const refused = await run(remove, { typed: ['n\r'] });
  t.match(
    refused.stderr,
    /^dana@example\.com is the only admin of the project shop; without the user, only platform admins can manage it\. Set another admin first: svc member set <email> --role admin --project shop\n.*Delete user/,
  );
  t.equal(seen.filter(({ method }) => method === 'DELETE').length, 0);
  t.match(await run([...remove, '--yes']), { code: 0, stderr: /only admin of the project shop.*\n.*is deleted/ });
  routes[`GET ${one}`] = { body: { ...user, onlyAdminOf: ['blog', 'shop'] } };
  t.match(await run([...remove, '--yes']), { stderr: /only admin of the projects blog, shop; .* manage them\./ });
  routes[`GET ${one}`] = { body: { ...user, onlyAdminOf: [] } };
  t.same(await run([...remove, '--yes']), { code: 0, stdout: '', stderr: 'user dana@example.com is deleted\n' });
});

t.test('user password asks for the current one and twice for the new one, or reads two lines', async (t) => {
  const { run, seen } = await world(t, { [`PUT ${users}/me/password`]: { status: 204 } });
  const change = ['user', 'password'];
  const prompted = await run(change, { typed: ['old one\r', 'new one\r', 'new one\r'] });
  t.equal(prompted.code, 0, prompted.stderr);
  t.notMatch(prompted.stderr, /old one|new one/);
  t.same(seen.at(-1)?.body, { currentPassword: 'old one', newPassword: 'new one' });
  const differing = await run(change, { typed: ['old one\r', 'new one\r', 'other\r'] });
  t.match(differing, { code: 1, stderr: /do not match/ });
  t.equal((await run([...change, '--password-stdin'], { stdin: 'old\nnew\n' })).code, 0);
  t.same(seen.at(-1)?.body, { currentPassword: 'old', newPassword: 'new' });
  t.equal((await run([...change, '--password-stdin'], { stdin: 'old\n' })).code, 2);
  t.equal(seen.length, 2);
});

t.test('login with a one-time password says what to do next', async (t) => {
  const session = { token: 'svcs_x', email: 'a@b.c', expiresAt: createdAt, passwordChangeRequired: true };
  const { run } = await world(t, { 'POST /api/v1/session': { status: 201, body: session } });
  const ran = await run(['login', '--email', 'a@b.c', '--password-stdin'], { stdin: 'x' });
  t.match(ran, { code: 0, stderr: /change your password now: svc user password\n$/ });
});

t.test('member list, set and remove act in the project, without an environment', async (t) => {
  const members = '/api/v1/projects/shop/members';
  const member = { userId: id, email: 'dana@example.com', role: 'deployer', since: createdAt };
  const { run, seen } = await world(t, {
    [`GET ${members}`]: { body: { items: [member, { ...member, email: 'eve@example.com', disabled: true }] } },
    [`PUT ${members}/dana%40example.com`]: { body: member },
    [`DELETE ${members}/dana%40example.com`]: { status: 204 },
  });
  const env = { SVC_ENVIRONMENT: 'prod' };
  t.equal(
    (await run(['member', 'list'], { env })).stdout,
    `MEMBER             ROLE       STATUS     SINCE
dana@example.com   deployer   active     1 hour ago
eve@example.com    deployer   disabled   1 hour ago
`,
  );
  t.notHas(seen.at(-1)?.query, 'environment');
  t.equal((await run(['member', 'set', 'dana@example.com', '--role', 'deployer'])).code, 0);
  t.same(seen.at(-1)?.body, { role: 'deployer' });
  t.equal((await run(['member', 'set', 'dana@example.com'])).code, 2);
  t.equal((await run(['member', 'set', 'dana@example.com', '--role', 'owner'])).code, 2);
  t.match(await run(['member', 'remove', 'dana@example.com', '--yes']), {
    code: 0,
    stderr: /dana@example.com is removed from shop/,
  });
});
