import { once } from 'node:events';
import t from 'tap';
import { functionRoute } from '../../../../infra/manifests/function.ts';
import { ingressRoute, sharedObjects } from '../../../../infra/manifests/workload-route.ts';
import { consoleRetry, consoleRoute, signInBody } from '../../../../infra/manifests/platform/network.ts';
import { signInBodyLimit, signInPath } from '../../../../runtime/contracts/api/sessions.ts';
import { consoleHost, type PlatformSettings } from '../../../../infra/manifests/platform/settings.ts';
import type { KubeObject } from '../../../../runtime/contracts/kubernetes.ts';
import { systemNamespace } from '../../../../runtime/domain/labels.ts';
import { appHost, appId, appObjects, createWorld, echo, namespace, seenBy, sliceOf } from './world.ts';

/** An IngressRoute that the platform would not write. */
function routeOf(name: string, spec: unknown): KubeObject {
  return { apiVersion: 'traefik.io/v1alpha1', kind: 'IngressRoute', metadata: { name, namespace }, spec };
}

function rule(match: string, more: Record<string, unknown> = {}): Record<string, unknown> {
  return { kind: 'Rule', match, services: [{ name: 'api', port: 80 }], ...more };
}

function middlewareOf(name: string, spec: unknown): KubeObject {
  return { apiVersion: 'traefik.io/v1alpha1', kind: 'Middleware', metadata: { name, namespace }, spec };
}

t.test('requests go by their host to the pod behind the Service of a route', async (t) => {
  const world = await createWorld(t);
  await world.serveEcho();
  await world.put(...appObjects({ hosts: [appHost, 'www.example.com'] }));
  for (const host of [appHost, `${appHost}:8080`, appHost.toUpperCase(), `${appHost}.`, 'www.example.com']) {
    const reply = await world.ask({ host, path: '/a/b?c=d&e' });
    t.equal(reply.status, 200, host);
    t.equal(seenBy(reply).headers['host'], host, 'the Host header is unchanged');
    t.equal(seenBy(reply).url, '/a/b?c=d&e');
  }
  const unknown = await world.ask({ host: 'other.example.com' });
  t.equal(unknown.status, 404);
  t.equal(unknown.body, '404 page not found\n');
  t.match(unknown.headers, { 'content-type': 'text/plain; charset=utf-8', 'x-content-type-options': 'nosniff' });

  await t.test('requests get a 404 once the route is deleted', async (t) => {
    const [route] = appObjects();
    if (route) await world.remove(route);
    t.equal((await world.ask()).status, 404);
  });
});

t.test("a function's route leads to the interceptor, the console's to its API", async (t) => {
  const world = await createWorld(t);
  await world.serve('svc-interceptor', systemNamespace, echo);
  const host = 'fn-hello--test.apps.localhost';
  const route = functionRoute(
    { id: appId, name: 'hello', namespace },
    { hosts: [host], entryPoints: ['web'], scheme: 'http', gated: false },
  );
  for (const object of [...sharedObjects(route), ingressRoute(route)]) await world.put(object);
  t.equal((await world.ask({ host })).status, 200);
  await world.serve('console-api', systemNamespace, (_, response) => response.end('console'));
  const settings = { appsDomain: 'apps.localhost', entryPoints: ['web'] } as PlatformSettings;
  await world.put(consoleRetry(), signInBody(), consoleRoute(settings));
  const console = { host: consoleHost(settings), method: 'POST' };
  t.equal((await world.ask(console)).body, 'console');
  t.equal((await world.ask({ ...console, path: signInPath, body: ' '.repeat(signInBodyLimit) })).body, 'console');
  t.equal((await world.ask({ ...console, path: signInPath, body: ' '.repeat(signInBodyLimit + 1) })).status, 413);
});

t.test('a client that leaves before the end of its sign-in is neither an error nor a request to the API', async (t) => {
  const world = await createWorld(t);
  const seen: unknown[] = [];
  await world.serve('console-api', systemNamespace, ({ url }, response) => response.end(String(seen.push(url))));
  const settings = { appsDomain: 'apps.localhost', entryPoints: ['web'] } as PlatformSettings;
  await world.put(consoleRetry(), signInBody(), consoleRoute(settings));
  const host = consoleHost(settings);
  for (const framing of ['Content-Length: 100', 'Transfer-Encoding: chunked']) {
    const head = `POST ${signInPath} HTTP/1.1\r\nHost: ${host}\r\n${framing}\r\n\r\n`;
    const client = await world.open(`${head}5\r\nabc`);
    await world.ask({ host });
    client.destroy();
    await once(client, 'close');
    await world.ask({ host });
  }
  t.same(seen, ['/', '/', '/', '/']);
  t.same(world.entries(), []);
});

t.test('requests go to the ready pods in turn, and never to unready or terminating ones', async (t) => {
  const world = await createWorld(t);
  const first = await world.serve('api', namespace, (_, response) => response.end('first'));
  const second = await world.serve('api', namespace, (_, response) => response.end('second'));
  await world.put(...appObjects());
  const bodies = async () => [(await world.ask()).body, (await world.ask()).body].sort();
  t.same(await bodies(), ['first', 'second']);
  await world.put(sliceOf('api', namespace, first.port, { terminating: true }));
  t.same(await bodies(), ['second', 'second']);
  await world.put(sliceOf('api', namespace, second.port, { serving: false }));
  const reply = await world.ask();
  t.equal(reply.status, 503);
  t.equal(reply.body, 'no available server\n');
  await world.remove(sliceOf('api', namespace, first.port));
  await world.put(sliceOf('api', namespace, second.port));
  t.same(await bodies(), ['second', 'second']);
  const { metadata, ...slice } = sliceOf('api', namespace, second.port);
  const labels = { 'kubernetes.io/service-name': 'other' };
  await world.put({ ...slice, metadata: { ...metadata, labels } });
  t.equal((await world.ask()).status, 503, 'the slice is of another Service now');
});

t.test('a pod that refuses connections is a 502, a missing Service a 404', async (t) => {
  const world = await createWorld(t);
  const { server } = await world.serveEcho();
  await world.put(...appObjects());
  server.close();
  const refused = await world.ask();
  t.equal(refused.status, 502);
  t.equal(refused.body, 'Bad Gateway');
  await world.remove({ apiVersion: 'v1', kind: 'Service', metadata: { name: 'api', namespace } });
  t.equal((await world.ask()).status, 404);
});

t.test('the longest rule wins, in any order of creation', async (t) => {
  const world = await createWorld(t);
  await world.serveEcho();
  await world.serve('other', namespace, (_, response) => response.end('other'));
  const other = { services: [{ name: 'other', port: 80 }] };
  const long = routeOf('a-long', { routes: [rule(`Host(\`${appHost}\`) || Host(\`x\`)`, other)] });
  await world.put(long, ...appObjects());
  t.equal((await world.ask()).body, 'other');
  await world.remove(long);
  t.not((await world.ask()).body, 'other');
  await world.put({ ...long, metadata: { ...long.metadata, name: 'z-long' } });
  t.equal((await world.ask()).body, 'other');
});

t.test('a priority takes the place of the length of the rule', async (t) => {
  const world = await createWorld(t);
  await world.serveEcho();
  await world.serve('other', namespace, (_, response) => response.end('other'));
  const services = [{ name: 'other', port: 80 }];
  const match = `Host(\`${appHost}\`) || Host(\`x\`)`;
  await world.put(...appObjects(), routeOf('low', { routes: [rule(match, { services, priority: 1 })] }));
  t.not((await world.ask()).body, 'other');
  await world.put(routeOf('low', { routes: [rule(match, { services, priority: 3 })] }));
  t.equal((await world.ask()).body, 'other');
});

t.test(
  'a rule about a header serves only requests with such a value, and needs a pattern of one meaning',
  async (t) => {
    const world = await createWorld(t);
    await world.serveEcho();
    await world.serve('other', namespace, (_, response) => response.end('other'));
    const services = [{ name: 'other', port: 80 }];
    const withHeader = (pattern: string) =>
      rule(`(Host(\`${appHost}\`) || Host(\`x\`)) && HeaderRegexp(\`x-kind\`, \`${pattern}\`)`, { services });
    await world.put(...appObjects(), routeOf('special', { routes: [withHeader('^a+$'), withHeader('^b$')] }));
    const answers = async (headers: Record<string, string | string[]>, host = appHost) =>
      (await world.ask({ host, headers })).body === 'other';
    for (const value of ['aa', 'b', ['c', 'a']]) t.ok(await answers({ 'X-Kind': value }), String(value));
    for (const value of ['ab', 'c', []]) t.notOk(await answers({ 'X-Kind': value }), String(value));
    t.ok(await answers({ 'X-Kind': 'a' }, 'x'));
    t.equal((await world.ask({ host: 'x' })).status, 404, 'no other rule has this host');
    for (const pattern of ['(', '\\z', '(?i)a']) {
      await world.put(routeOf('special', { routes: [withHeader(pattern)] }));
      t.equal((await world.ask()).status, 404, pattern);
    }
  },
);

t.test('a route of another entry point is not served', async (t) => {
  const world = await createWorld(t, { entryPoints: ['web', 'plain'] });
  await world.serveEcho();
  await world.put(...appObjects({ entryPoints: ['websecure'] }));
  t.equal((await world.ask()).status, 404);
  await world.put(...appObjects({ entryPoints: ['websecure', 'plain'] }));
  t.equal((await world.ask()).status, 200);
});

t.test('an unsupported route is refused as a whole, and nothing else serves its requests', async (t) => {
  const world = await createWorld(t);
  await world.serveEcho();
  await world.put(
    routeOf('fallback', { routes: [rule('Host(`strange.example.com`)')] }),
    middlewareOf('fine', { headers: { customResponseHeaders: { 'X-Fine': 'yes' } } }),
    middlewareOf('unknown', { rateLimit: { average: 1 } }),
    middlewareOf('nothing', {}),
    middlewareOf('beside', { headers: {}, rateLimit: { average: 1 } }),
    middlewareOf('two', { headers: {}, errors: { status: ['404'], service: { name: 'api', port: 80 } } }),
    middlewareOf('unknown-field', { headers: { customRequestHeaders: {}, stsSeconds: 1 } }),
    middlewareOf('host', { headers: { customRequestHeaders: { Host: 'x' } } }),
    middlewareOf('split', { headers: { customResponseHeaders: { A: 'b\r\nSet-Cookie: c' } } }),
    middlewareOf('body', { forwardAuth: { address: 'http://a.b.svc/', forwardBody: true } }),
    middlewareOf('elsewhere', { forwardAuth: { address: 'http://example.com/' } }),
    middlewareOf('go-regexp', { forwardAuth: { address: 'http://a.b.svc/', authResponseHeadersRegex: '\\AX' } }),
  );
  const host = 'strange.example.com';
  const match = `Host(\`${host}\`) || Host(\`strange.example.org\`)`;
  const through = (...names: string[]) => ({ routes: [rule(match, { middlewares: names.map((name) => ({ name })) })] });
  await world.put(routeOf('strange', through('fine')));
  t.equal((await world.ask({ host })).headers['x-fine'], 'yes');
  const refused: [string, unknown][] = [
    ['a middleware that does not exist', through('fine', 'missing')],
    ...['unknown', 'nothing', 'beside', 'two', 'unknown-field', 'host', 'split', 'body', 'elsewhere', 'go-regexp'].map(
      (name): [string, unknown] => [`the middleware ${name}`, through(name)],
    ),
    [
      'a middleware of another namespace',
      { routes: [rule(match, { middlewares: [{ name: 'fine', namespace: 'x' }] })] },
    ],
    ['a middleware of another provider', through('fine@file')],
    ['TLS', { routes: [rule(match)], tls: {} }],
    ['a parent', { routes: [rule(match)], parentRefs: [{ name: 'x' }] }],
    ['two services', { routes: [rule(match, { services: [1, 2].map(() => ({ name: 'api', port: 80 })) })] }],
    ['a TraefikService', { routes: [rule(match, { services: [{ kind: 'TraefikService', name: 'api', port: 80 }] })] }],
    [
      'a Service of another namespace',
      { routes: [rule(match, { services: [{ name: 'api', port: 80, namespace: 'x' }] })] },
    ],
    ['HTTPS to pods', { routes: [rule(match, { services: [{ name: 'api', port: 80, scheme: 'https' }] })] }],
    ['no service', { routes: [rule(match, { services: [] })] }],
    ['another kind of rule', { routes: [rule(match, { kind: 'Other' })] }],
    ['a priority of 0', { routes: [rule(match, { priority: 0 })] }],
    ['rules of version 2', { routes: [rule(match, { syntax: 'v2' })] }],
  ];
  for (const [name, spec] of refused) {
    const before = world.entries().length;
    await world.put(routeOf('strange', spec));
    t.equal((await world.ask({ host })).status, 404, name);
    t.equal((await world.ask({ host })).status, 404, name);
    t.equal(world.entries().length, before + 1, `${name} is logged once`);
  }

  await t.test('a route with an unknown rule is refused for all hosts that the object names', async (t) => {
    const rules = ['!', ' && PathPrefix(`/admin`)', ' && Method(`POST`)', ' || PathPrefix(`/`)', ')', ' x', ' ||'];
    for (const more of rules) {
      await world.put(routeOf('strange', { routes: [rule(`${match}${more}`)] }));
      t.equal((await world.ask({ host })).status, 404, more);
    }
    for (const sibling of ['HostRegexp(`sibling`)', 'Host(`sibling`) && Header(`A`, `b`)', '', 7 as never, null].map(
      (text) => (text === null ? null : rule(text)),
    )) {
      await world.put(routeOf('strange', { routes: [sibling, rule(match)] }));
      t.equal((await world.ask({ host })).status, 404, JSON.stringify(sibling));
      t.equal((await world.ask({ host: 'sibling' })).status, 404);
    }
    for (const other of [`Host("${host}")`, `Host(\`x\`, \`${host}\`)`, `HostSNI( \`${host}\` )`, `!${match}`]) {
      await world.put(routeOf('strange', { routes: [rule(other)] }));
      t.equal((await world.ask({ host })).status, 404, other);
    }
    t.match(world.entries().at(-1), { route: `${namespace}/strange`, msg: 'route refused' });
    for (const spec of [undefined, {}, { routes: 'none' }, { routes: [null] }]) {
      await world.put(routeOf('strange', spec));
      t.equal((await world.ask({ host })).status, 200, 'no route names this host');
    }
  });

  await t.test('a refused route is served as soon as it is corrected', async (t) => {
    await world.put(routeOf('strange', through('late')));
    t.equal((await world.ask({ host })).status, 404);
    await world.put(middlewareOf('late', { headers: { customResponseHeaders: { 'X-Late': 'yes' } } }));
    t.equal((await world.ask({ host })).headers['x-late'], 'yes');
    await world.remove(middlewareOf('late', undefined));
    t.equal((await world.ask({ host })).status, 404);
  });
});
