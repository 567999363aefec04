import t from 'tap';
import { generateApiKey } from '../../runtime/domain/api-key.ts';
import { allKnow } from '../support/checkers.ts';
import { eventually, runningPlatform, testProject, uniqueName } from '../support/platform.ts';

/** Additional hosts and security headers of apps, through the real ingress. */
const platform = await runningPlatform();
const image = 'localhost:5000/svc/hello:v1';
const { project, flags, namespace } = await testProject(t, platform);
/** The only test with hosts outside the apps domain. */
const domain = `${uniqueName('hosts-')}.example.test`;
await platform.ok(['platform', 'config', 'set', '--host-domain', `${domain}=${project}`]);
t.teardown(() => platform.ok(['platform', 'config', 'set', '--no-host-domains', '--host-proofs', 'on']));
const { port } = new URL(platform.info.ingress);
const urlOf = (host: string) => `http://${host}:${port}`;
const create = async (app: string, ...more: string[]) => {
  await platform.ok(['app', 'create', app, '--image', image, ...more, ...flags]);
  return (await platform.json<{ url: string }>(['app', 'show', app, ...flags])).url;
};
const serves = (url: string, status = 200, headers: Record<string, string> = {}) =>
  eventually(
    () => platform.request(url, { headers }),
    (answer) => answer.status === status,
  );
const claims = async () => {
  const { stdout } = await platform.kubectl('get', 'hostnames.platform.svc', '-o', 'name');
  return stdout
    .split('\n')
    .filter((name) => name.endsWith(domain))
    .map((name) => name.split('/')[1] ?? '');
};

t.test('an app serves on every current host and on no removed one', async (t) => {
  const own = await create('web', '--extra-host', `first.${domain}`);
  await serves(own);
  await serves(urlOf(`first.${domain}`));
  await platform.ok(['app', 'host', 'add', 'web', `second.${domain}`, `third.${domain}`, ...flags]);
  await serves(urlOf(`second.${domain}`));
  await serves(urlOf(`third.${domain}`));

  await t.test('a host in a domain that the project may not use is refused, with what to do', async (t) => {
    await platform.ok(['platform', 'config', 'set', '--host-proofs', 'off']);
    const refused = await platform.svc(['app', 'host', 'add', 'web', 'grafana.example.test', ...flags]);
    t.equal(refused.code, 1);
    t.match(refused.stderr, /host_not_allowed/);
    t.match(refused.stderr, /svc platform config set --host-domain/);
  });

  await t.test('a host that is taken is refused, with all others of the change', async (t) => {
    await create('other', '--extra-host', `taken.${domain}`);
    const refused = await platform.svc(['app', 'host', 'add', 'web', `free.${domain}`, `taken.${domain}`, ...flags]);
    t.equal(refused.code, 1);
    t.match(refused.stderr, new RegExp(`"taken.${domain}" is already used by an app \\("other" in ${namespace}\\)`));
    t.notOk((await claims()).includes(`free.${domain}`));
    const reserved = await platform.svc([
      'app',
      'host',
      'add',
      'web',
      `other--${namespace}.${platform.info.appsDomain}`,
      ...flags,
    ]);
    t.match(reserved.stderr, /may be the default host of another app or function/);
  });

  await platform.ok(['app', 'host', 'remove', 'web', `second.${domain}`, ...flags]);
  await serves(urlOf(`second.${domain}`), 404);
  await eventually(claims, (held) => !held.includes(`second.${domain}`));
  await serves(urlOf(`third.${domain}`));
  await create('heir', '--extra-host', `second.${domain}`);
  await serves(urlOf(`second.${domain}`));
  await platform.ok(['app', 'delete', 'web', '--yes', ...flags]);
  t.same(
    (await claims()).sort(),
    [`second.${domain}`, `taken.${domain}`],
    'the remaining host belongs to the other app',
  );
});

t.test('a gate holds on every host, from the first moment of each', async (t) => {
  const own = await create('api', '--extra-host', `api.${domain}`);
  await platform.ok(['app', 'gate', 'enable', 'api', ...flags]);
  await platform.ok(['plan', 'create', 'hosts', '--rate', '1000', '--burst', '1000', ...flags]);
  const key = await platform.ok(['key', 'create', '--plan', 'hosts', ...flags]);
  const { id } = await platform.json<{ id: string }>(['app', 'show', 'api', ...flags]);
  await allKnow(platform, id, key);
  for (const url of [own, urlOf(`api.${domain}`)]) {
    const denied = await platform.request(url);
    t.equal(denied.status, 401, 'the gate is reported as gated once every host has it');
    t.equal(denied.headers['access-control-allow-origin'], '*');
    t.equal(denied.headers['x-content-type-options'], 'nosniff', 'a denial has the security headers too');
    t.equal((await platform.request(url, { headers: { 'X-API-Key': key } })).status, 200);
  }

  const statuses = new Set<number>();
  await platform.ok(['app', 'host', 'add', 'api', `late.${domain}`, ...flags]);
  await eventually(
    () => platform.request(urlOf(`late.${domain}`)),
    ({ status }) => {
      statuses.add(status);
      return status === 401;
    },
  );
  t.notOk(statuses.has(200), 'a new host is never open');
  await eventually(
    () => platform.ok(['app', 'gate', 'status', 'api', ...flags]),
    (text) => /gated/.test(text),
  );
  const forged = { 'X-API-Key': key, 'X-Svc-Key-Prefix': 'forged', X_Svc_Key_Name: 'forged' };
  const answer = await platform.request(urlOf(`late.${domain}`), { headers: forged });
  t.equal(answer.status, 200);
  t.notMatch(answer.body, 'forged');
  t.notMatch(answer.body, key);

  const preflight = { Origin: 'https://example.com', 'Access-Control-Request-Method': 'GET' };
  t.equal((await platform.request(urlOf(`late.${domain}`), { method: 'OPTIONS', headers: preflight })).status, 200);
});

t.test('without a gate, an app gets keys of its own, and none of the platform', async (t) => {
  const url = await create('plain');
  await serves(url);
  const issued = generateApiKey().key;
  const keyAtApp = async (sent: string | string[]) => {
    const headers = { 'X-API-Key': sent, X_Svc_Key_Name: 'forged' };
    const { body } = await platform.request(url, { headers });
    t.notMatch(body, 'forged');
    return (JSON.parse(body) as { headers: Record<string, string> }).headers['x-api-key'];
  };
  t.equal(await keyAtApp('mine'), 'mine');
  for (const sent of [issued, `Bearer ${issued}`, ['mine', issued]]) t.equal(await keyAtApp(sent), undefined);
});

t.test("security headers are on every answer and replace the app's own", async (t) => {
  const ownHeaders = {
    'x-frame-options': 'DENY',
    'content-security-policy': "default-src 'none'",
    'x-own': 'kept',
    'access-control-allow-origin': 'https://own.example.com',
  };
  const env = ['--env', `RESPONSE_HEADERS=${JSON.stringify(ownHeaders)}`];
  const url = await create('page', '--extra-host', `page.${domain}`, ...env);
  const site = {
    'x-content-type-options': 'nosniff',
    'x-frame-options': 'SAMEORIGIN',
    'referrer-policy': 'strict-origin-when-cross-origin',
    'permissions-policy': 'camera=(), microphone=(), geolocation=()',
  };
  for (const address of [url, urlOf(`page.${domain}`)]) {
    const { headers } = await serves(address);
    t.match(headers, site);
    t.equal(
      headers['content-security-policy'],
      "default-src 'none'",
      "without the platform's header the app's own is passed on",
    );
    t.match(headers, { 'x-own': 'kept', 'access-control-allow-origin': 'https://own.example.com' });
    t.equal(headers['strict-transport-security'], undefined, 'no Strict-Transport-Security over plain HTTP');
  }

  const policyIs = (pattern: RegExp) =>
    eventually(
      () => platform.request(url),
      ({ headers }) => pattern.test(String(headers['content-security-policy'])),
    );
  await platform.ok(['app', 'security', 'set', 'page', '--csp', 'cdn.example.com', ...flags]);
  const { headers } = await policyIs(/^default-src 'self' cdn.example.com;/);
  t.match(headers, site);

  await t.test('security headers can be turned off without a moment without answers', async (t) => {
    const statuses = new Set<number>();
    const ask = async () => {
      const answer = await platform.request(url);
      statuses.add(answer.status);
      return answer;
    };
    for (const state of ['off', 'on', 'off']) {
      const policy = state === 'off' ? 'none' : 'self';
      await platform.ok(['app', 'security', 'set', 'page', '--headers', state, '--csp', policy, ...flags]);
      await eventually(ask, (answer) => (answer.headers['referrer-policy'] === undefined) === (state === 'off'));
    }
    const plain = await ask();
    t.match(plain.headers, ownHeaders, "the app's own headers are passed on again");
    const { id } = await platform.json<{ id: string }>(['app', 'show', 'page', ...flags]);
    await eventually(
      async () => {
        await ask();
        return platform.kubectl(
          '-n',
          namespace,
          'get',
          'middleware',
          `security-${id}`,
          '--ignore-not-found',
          '-o',
          'name',
        );
      },
      ({ code, stdout }) => code === 0 && stdout === '',
    );
    for (let attempt = 0; attempt < 30; attempt++) await ask();
    t.same([...statuses], [200]);
  });
});
