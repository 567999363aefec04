import t from 'tap';
import { app, world, type Reply, type Seen } from './world.ts';

const apps = '/api/v1/projects/shop/apps';
const path = `${apps}/api`;

/** An API whose app accepts every change of its route. */
function storing(t: Parameters<typeof world>[0], start: object = {}) {
  let now: object = { ...app, ...start };
  return world(t, {
    [`GET ${path}`]: (): Reply => ({ body: now }),
    [`PATCH ${path}/hosts`]: ({ body }: Seen): Reply => {
      const { add = [], remove = [] } = body as { add?: string[]; remove?: string[] };
      const { extraHosts = [] } = now as { extraHosts?: string[] };
      const hosts = new Set([...extraHosts, ...add]);
      for (const host of remove) hosts.delete(host);
      now = { ...now, extraHosts: [...hosts] };
      return { body: now };
    },
    [`PATCH ${path}`]: ({ body }: Seen): Reply => {
      const { security, ...others } = body as { security?: object };
      now = { ...now, ...others, ...(security && { security: { ...app.security, ...security } }) };
      return { body: now };
    },
  });
}

const patches = (seen: Seen[]) => seen.filter(({ method }) => method === 'PATCH').map(({ body }) => body);

t.test('app host: each change sends only what changes, and the output names the next steps', async (t) => {
  const { run, seen } = await storing(t);
  t.same(await run(['app', 'host', 'add', 'api', 'example.com', 'www.example.com']), {
    code: 0,
    stdout: `HOST                              URL                                       KIND
api--shop-prod.apps.example.com   https://api--shop-prod.apps.example.com   own
example.com                       https://example.com                       extra
www.example.com                   https://www.example.com                   extra
`,
    stderr: [
      'example.com: point its DNS to the ingress, and add a certificate for it to the ingress\n',
      'www.example.com: point its DNS to the ingress, and add a certificate for it to the ingress\n',
    ].join(''),
  });
  t.equal((await run(['app', 'host', 'add', 'api', 'www.example.com', 'new.example.com'])).code, 0);
  t.equal((await run(['app', 'host', 'remove', 'api', 'example.com', 'new.example.com'])).stderr, '');
  t.same(patches(seen), [
    { add: ['example.com', 'www.example.com'] },
    { add: ['www.example.com', 'new.example.com'] },
    { remove: ['example.com', 'new.example.com'] },
  ]);
  t.equal(
    (await run(['app', 'host', 'list', 'api', '-o', 'name'])).stdout,
    'api--shop-prod.apps.example.com\nwww.example.com\n',
  );
  t.same(JSON.parse((await run(['app', 'host', 'list', 'api', '-o', 'json'])).stdout), [
    { host: 'api--shop-prod.apps.example.com', url: app.url, extra: false },
    { host: 'www.example.com', url: 'https://www.example.com', extra: true },
  ]);
  t.match((await run(['app', 'show', 'api'])).stdout, /^Also at: +www.example.com$/m);
});

t.test('app host: shows the port that clients use, and the known fields of an app without URL', async (t) => {
  const { run } = await storing(t, { url: 'http://api.test:18080', extraHosts: ['example.com'] });
  t.match((await run(['app', 'host', 'list', 'api'])).stdout, /example.com +http:\/\/example.com:18080 +extra/);
  t.equal(
    (await run(['app', 'host', 'add', 'api', 'a.example.com'])).stderr,
    'a.example.com: point its DNS to the ingress\n',
  );
  const { run: early } = await storing(t, { url: undefined, extraHosts: ['example.com'] });
  t.equal((await early(['app', 'host', 'list', 'api', '-o', 'name'])).stdout, 'example.com\n');
});

t.test('app host: a host that is not in the list cannot be removed, and an API failure changes nothing', async (t) => {
  const { run, seen, routes } = await storing(t, { extraHosts: ['example.com'] });
  t.match(await run(['app', 'host', 'remove', 'api', 'www.example.com']), {
    code: 1,
    stderr: /App "api" has no additional host "www.example.com".*hint: list hosts: svc app host list api/s,
  });
  t.same(patches(seen), []);
  t.equal((await run(['app', 'host', 'add', 'api'])).code, 2);
  const message = 'The host name "a.example.com" is already used by an app ("web" in shop-prod).';
  routes[`PATCH ${path}/hosts`] = { status: 409, body: { code: 'host_taken', message } };
  t.match(await run(['app', 'host', 'add', 'api', 'a.example.com']), {
    code: 1,
    stdout: '',
    stderr: /\("web" in shop-prod\)/,
  });
});

t.test('app security: headers and policy are set separately', async (t) => {
  const { run, seen } = await storing(t);
  const set = (...flags: string[]) => run(['app', 'security', 'set', 'api', ...flags]);
  t.same(await set('--csp', 'cdn.example.com', '--csp', '*.example.org'), {
    code: 0,
    stdout: 'App:      api\nHeaders:  on\nPolicy:   self cdn.example.com *.example.org\n',
    stderr: '',
  });
  t.match((await set('--csp', 'self')).stdout, /^Policy: +self$/m);
  t.match((await set('--headers', 'off', '--csp', 'none')).stdout, /^Headers: +off\nPolicy: +none$/m);
  t.same(patches(seen), [
    { security: { csp: ['cdn.example.com', '*.example.org'] } },
    { security: { csp: [] } },
    { security: { headers: false, csp: null } },
  ]);
  t.same(JSON.parse((await run(['app', 'security', 'show', 'api', '-o', 'json'])).stdout), {
    app: 'api',
    headers: false,
    csp: null,
  });
  t.match((await run(['app', 'show', 'api'])).stdout, /^Security: +headers off, policy none$/m);
  for (const wrong of [[], ['--headers', 'no'], ['--csp', 'self', '--csp', 'a.example.com']]) {
    t.equal((await set(...wrong)).code, 2, wrong.join(' '));
  }
  t.equal(patches(seen).length, 3);
});

t.test('app create: sends nothing of the route without a flag for it', async (t) => {
  const { run, seen } = await world(t, { [`POST ${apps}`]: { status: 201, body: app } });
  const create = (...flags: string[]) =>
    run(['app', 'create', 'api', '--image', 'r.example.com/api:1', '--no-wait', ...flags]);
  await create();
  await create('--extra-host', 'example.com', '--extra-host', 'www.example.com', '--no-security-headers');
  await create('--csp', 'cdn.example.com');
  await create('--csp', 'none');
  const basics = { name: 'api', image: 'r.example.com/api:1' };
  t.same(
    seen.map(({ body }) => body),
    [
      basics,
      { ...basics, extraHosts: ['example.com', 'www.example.com'], security: { headers: false } },
      { ...basics, security: { csp: ['cdn.example.com'] } },
      basics,
    ],
  );
});
