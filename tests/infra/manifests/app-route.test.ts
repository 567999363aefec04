import t from 'tap';
import type { KubeObject } from '../../../runtime/contracts/kubernetes.ts';
import { appRoute, type AppRouteInput } from '../../../infra/manifests/app-route.ts';
import {
  ingressRoute,
  isShared,
  routeGate,
  routeSecurity,
  sharedObjects,
} from '../../../infra/manifests/workload-route.ts';

const id = '0190a0a0-0000-7000-8000-000000000001';
const input: AppRouteInput = {
  id,
  name: 'api',
  namespace: 'shop-prod',
  hosts: ['api--shop-prod.apps.test'],
  entryPoints: ['websecure'],
  scheme: 'https',
  gated: false,
};
const labels = {
  'app.kubernetes.io/managed-by': 'kipper',
  app: 'api',
  'platform.svc/kind': 'App',
  'platform.svc/id': id,
};
const metadata = { name: 'api', namespace: 'shop-prod', labels };
/** The metadata of a Middleware that all apps of the environment use. */
const shared = { namespace: 'shop-prod', labels: { 'app.kubernetes.io/managed-by': 'kipper' } };
const ofAll = (object: KubeObject | undefined) => object !== undefined && isShared(object.metadata.name);

t.test('the route, without and with a gate', async (t) => {
  const match = 'Host(`api--shop-prod.apps.test`)';
  const rule = {
    kind: 'Rule',
    match,
    priority: 2,
    services: [{ name: 'api', port: 80, serversTransport: 'svc-pods' }],
  };
  const route = { apiVersion: 'traefik.io/v1alpha1', kind: 'IngressRoute', metadata };
  t.same(ingressRoute(appRoute(input)), {
    ...route,
    spec: {
      entryPoints: ['websecure'],
      routes: [
        { ...rule, middlewares: [{ name: 'svc-strip' }, { name: 'svc-retry' }] },
        {
          ...rule,
          match: `(${match}) && HeaderRegexp(\`X-API-Key\`, \`svc_[a-z0-9]{8}_[a-z0-9]{46}\`)`,
          priority: 3,
          middlewares: [{ name: 'svc-strip' }, { name: 'svc-strip-key' }, { name: 'svc-retry' }],
        },
      ],
    },
  });
  t.same(ingressRoute(appRoute({ ...input, gated: true })), {
    ...route,
    spec: {
      entryPoints: ['websecure'],
      routes: [{ ...rule, middlewares: [{ name: 'svc-gate-strip' }, { name: `gate-${id}` }, { name: 'svc-retry' }] }],
    },
  });
});

t.test('the gate removes reserved headers, then calls the checker for this app', async (t) => {
  const gated = appRoute({ ...input, gated: true });
  const middleware = { apiVersion: 'traefik.io/v1alpha1', kind: 'Middleware' };
  t.same(sharedObjects(gated), [
    { ...middleware, metadata: { ...shared, name: 'svc-retry' }, spec: { retry: { attempts: 3 } } },
    {
      ...middleware,
      metadata: { ...shared, name: 'svc-gate-strip' },
      spec: {
        headers: {
          customRequestHeaders: {
            'X-Svc-Key-Prefix': '',
            'X-Svc-Key-Name': '',
            RateLimit: '',
            'RateLimit-Policy': '',
            'X-Forwarded-Method': '',
            'X-Forwarded-Uri': '',
            'HTTP2-Settings': '',
          },
        },
      },
    },
    {
      apiVersion: 'traefik.io/v1alpha1',
      kind: 'ServersTransport',
      metadata: { ...shared, name: 'svc-pods' },
      spec: { maxIdleConnsPerHost: 200, forwardingTimeouts: { dialTimeout: '3s', idleConnTimeout: '1500ms' } },
    },
  ]);
  t.same(routeGate(gated), {
    ...middleware,
    metadata: { ...metadata, name: `gate-${id}` },
    spec: {
      forwardAuth: {
        address: `http://svc-authz.svc-system.svc/authorize?app=${id}`,
        trustForwardHeader: true,
        authRequestHeaders: ['X-API-Key', 'Origin', 'Access-Control-Request-Method'],
        authResponseHeaders: ['X-Svc-Key-Prefix', 'X-Svc-Key-Name', 'RateLimit', 'RateLimit-Policy', 'X-API-Key'],
        authResponseHeadersRegex:
          '(?i)^(x[^a-z0-9]svc[^a-z0-9]key[^a-z0-9]prefix|x[^a-z0-9]svc[^a-z0-9]key[^a-z0-9]name|ratelimit|' +
          'ratelimit[^a-z0-9]policy|x[^a-z0-9]api[^a-z0-9]key)$',
      },
    },
  });
});

t.test(
  'a route without a gate removes its headers in the spellings that servers confuse, and the platform’s keys',
  (t) => {
    t.equal(routeGate(appRoute(input)), undefined);
    const [, strip, stripKey] = sharedObjects(appRoute(input));
    t.same(strip?.metadata, { ...shared, name: 'svc-strip' });
    const spec = strip?.spec as { headers: { customRequestHeaders: object } } | undefined;
    const removed = Object.entries(spec?.headers.customRequestHeaders ?? {});
    t.ok(removed.every(([, value]) => value === ''));
    const names = removed.map(([name]) => name);
    t.equal(new Set(names).size, 27 + 27);
    for (const name of ['X-Svc-Key-Prefix', 'X_Svc_Key_Name', 'X.Svc.Key.Name', 'X-Svc_Key.Prefix'])
      t.ok(names.includes(name), name);
    t.match(stripKey, {
      metadata: { name: 'svc-strip-key' },
      spec: { headers: { customRequestHeaders: { 'X-API-Key': '' } } },
    });
    t.end();
  },
);

t.test('all apps of an environment share the Middlewares that are the same for all', async (t) => {
  const other = { ...input, id: '0190a0a0-0000-7000-8000-000000000002', name: 'web', security: { headers: true } };
  for (const gated of [false, true]) {
    const objects = sharedObjects(appRoute({ ...input, gated }));
    t.same(sharedObjects(appRoute({ ...other, gated })), objects);
    t.ok(objects.every(({ metadata: { name } }) => isShared(name)));
  }
  t.notOk([routeSecurity(appRoute(other)), routeGate(appRoute({ ...other, gated: true }))].some(ofAll));
});

t.test('Traefik confuses no Middleware with one of another namespace', async (t) => {
  /** Its name for a Middleware: namespace and name, with one hyphen between all words. */
  const traefikName = ({ metadata: { namespace, name } }: KubeObject) =>
    `${namespace}-${name}`.split(/[^a-z0-9]+/).join('-');
  const namesOf = (settings: Pick<AppRouteInput, 'id' | 'name' | 'namespace'>) =>
    [true, false].flatMap((gated) => {
      const route = appRoute({ ...input, ...settings, gated, security: { headers: true } });
      return [...sharedObjects(route), routeSecurity(route), routeGate(route)]
        .filter((object) => object !== undefined)
        .map(traefikName);
    });
  const others = new Set(namesOf({ id, name: 'y', namespace: 'shop-prod-x' }));
  const names = namesOf({ id: '0190a0a0-0000-7000-8000-000000000002', name: 'x-y', namespace: 'shop-prod' });
  t.same(
    names.filter((name) => others.has(name)),
    [],
  );
});

t.test('all hosts share one rule, and so the same protection', async (t) => {
  const hosts = ['api--shop-prod.apps.test', 'example.com', 'www.example.com'];
  const { spec } = ingressRoute(appRoute({ ...input, hosts, gated: true, security: { headers: true } }));
  t.match(spec, {
    routes: [
      {
        match: 'Host(`api--shop-prod.apps.test`) || Host(`example.com`) || Host(`www.example.com`)',
        // The headers come first, so that the gate's denials have them too; within the gate, removal comes before
        // addition.
        middlewares: [{ name: `security-${id}` }, { name: 'svc-gate-strip' }, { name: `gate-${id}` }],
      },
    ],
  });
  t.equal((spec as { routes: unknown[] }).routes.length, 1);
});

t.test('the security headers', async (t) => {
  t.equal(routeSecurity(appRoute(input)), undefined, 'an app that does not set them');
  t.equal(routeSecurity(appRoute({ ...input, security: { headers: false } })), undefined);
  const site = {
    'X-Content-Type-Options': 'nosniff',
    'X-Frame-Options': 'SAMEORIGIN',
    'Referrer-Policy': 'strict-origin-when-cross-origin',
    'Permissions-Policy': 'camera=(), microphone=(), geolocation=()',
  };
  const built = (security: AppRouteInput['security'], scheme: AppRouteInput['scheme'] = 'http') => {
    const { spec } = routeSecurity(appRoute({ ...input, security, scheme })) ?? {};
    return (spec as { headers: { customResponseHeaders: object } }).headers;
  };
  t.same(routeSecurity(appRoute({ ...input, security: { headers: true } })), {
    apiVersion: 'traefik.io/v1alpha1',
    kind: 'Middleware',
    metadata: { ...metadata, name: `security-${id}` },
    spec: { headers: { customResponseHeaders: { ...site, 'Strict-Transport-Security': 'max-age=31536000' } } },
  });
  t.same(built({ headers: true }), { customResponseHeaders: site }, 'no Strict-Transport-Security without TLS');
  const policy = (sources: string) =>
    `default-src ${sources}; img-src ${sources} data:; object-src 'none'; base-uri 'self'; form-action ${sources}; frame-ancestors 'self'`;
  t.same(built({ csp: [] }, 'https'), { customResponseHeaders: { 'Content-Security-Policy': policy("'self'") } });
  t.same(built({ headers: true, csp: ['cdn.example.com', 'https://*.example.org'] }), {
    customResponseHeaders: {
      ...site,
      'Content-Security-Policy': policy("'self' cdn.example.com https://*.example.org"),
    },
  });
  t.throws(() => built({ csp: ["'unsafe-inline'"] }), { code: 'invalid_value' });
});
