import t from 'tap';
import { appRoute, type AppRouteInput } from '../../../infra/manifests/app-route.ts';
import {
  gateMiddlewares,
  ingressRoute,
  middlewareNames,
  routeRetry,
  routeSecurity,
  stripMiddlewares,
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

t.test('the route, without and with a gate', async (t) => {
  const match = 'Host(`api--shop-prod.apps.test`)';
  const rule = { kind: 'Rule', match, priority: 2, services: [{ name: 'api', port: 80 }] };
  const route = { apiVersion: 'traefik.io/v1alpha1', kind: 'IngressRoute', metadata };
  t.same(ingressRoute(appRoute(input)), {
    ...route,
    spec: {
      entryPoints: ['websecure'],
      routes: [
        { ...rule, middlewares: [{ name: 'api-strip' }, { name: 'api-retry' }] },
        {
          ...rule,
          match: `(${match}) && HeaderRegexp(\`X-API-Key\`, \`svc_[a-z0-9]{8}_[a-z0-9]{46}\`)`,
          priority: 3,
          middlewares: [{ name: 'api-strip' }, { name: 'api-strip-key' }, { name: 'api-retry' }],
        },
      ],
    },
  });
  t.same(ingressRoute(appRoute({ ...input, gated: true })), {
    ...route,
    spec: {
      entryPoints: ['websecure'],
      routes: [{ ...rule, middlewares: [{ name: 'api-gate-strip' }, { name: 'api-gate' }, { name: 'api-retry' }] }],
    },
  });
});

t.test('the gate removes reserved headers, then calls the checker for this app', async (t) => {
  const middleware = { apiVersion: 'traefik.io/v1alpha1', kind: 'Middleware' };
  t.same(gateMiddlewares(appRoute(input)), [
    {
      ...middleware,
      metadata: { ...metadata, name: 'api-gate-strip' },
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
      ...middleware,
      metadata: { ...metadata, name: 'api-gate' },
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
    },
  ]);
});

t.test(
  'a route without a gate removes its headers in the spellings that servers confuse, and the platform’s keys',
  (t) => {
    const [strip, stripKey] = stripMiddlewares(appRoute(input));
    t.same(strip?.metadata, { ...metadata, name: 'api-strip' });
    const spec = strip?.spec as { headers: { customRequestHeaders: object } } | undefined;
    const removed = Object.entries(spec?.headers.customRequestHeaders ?? {});
    t.ok(removed.every(([, value]) => value === ''));
    const names = removed.map(([name]) => name);
    t.equal(new Set(names).size, 27 + 27);
    for (const name of ['X-Svc-Key-Prefix', 'X_Svc_Key_Name', 'X.Svc.Key.Name', 'X-Svc_Key.Prefix'])
      t.ok(names.includes(name), name);
    t.match(stripKey, {
      metadata: { name: 'api-strip-key' },
      spec: { headers: { customRequestHeaders: { 'X-API-Key': '' } } },
    });
    t.same(stripMiddlewares(appRoute({ ...input, gated: true })), [], 'the checker replaces them');
    t.end();
  },
);

t.test('all hosts share one rule, and so the same protection', async (t) => {
  const hosts = ['api--shop-prod.apps.test', 'example.com', 'www.example.com'];
  const { spec } = ingressRoute(appRoute({ ...input, hosts, gated: true, security: { headers: true } }));
  t.match(spec, {
    routes: [
      {
        match: 'Host(`api--shop-prod.apps.test`) || Host(`example.com`) || Host(`www.example.com`)',
        // The headers come first, so that the gate's denials have them too; within the gate, removal comes before
        // addition.
        middlewares: [{ name: 'api-security' }, { name: 'api-gate-strip' }, { name: 'api-gate' }],
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
    metadata: { ...metadata, name: 'api-security' },
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

t.test('middlewareNames lists every Middleware of an app', async (t) => {
  const objects = [
    routeSecurity(appRoute({ ...input, security: { headers: true } })),
    ...gateMiddlewares(appRoute(input)),
    ...stripMiddlewares(appRoute(input)),
    routeRetry(appRoute(input)),
  ];
  const { security, gate, strip, stripKey, retry } = middlewareNames('api');
  t.same(
    [security, ...gate, strip, stripKey, retry].sort(),
    objects.map((object) => String(object?.metadata.name)).sort(),
  );
});
