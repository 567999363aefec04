import t from 'tap';
import { parse } from 'yaml';
import { app, world } from '../world.ts';

const project = '/api/v1/projects/shop';
const empty = { body: { items: [] } };

t.test('a binding has a prefix or database in the file only where it differs from the default', async (t) => {
  const bindings = [
    { service: 'orders', type: 'postgres', prefix: 'DB_', database: 'orders_api_prod' },
    { service: 'stock', type: 'postgres', prefix: 'STOCK_', database: 'stock_api_prod' },
    { service: 'legacy', type: 'mysql', prefix: 'OLD_', database: 'shop' },
    { service: 'cache', type: 'redis', prefix: 'REDIS_' },
    { service: 'late', type: 'mongodb', prefix: 'LATE_', status: 'pending' },
  ].map((binding) => ({ status: 'ready', variables: [], ...binding }));
  const bound = { ...app, bindings: bindings.map(({ service, status }) => ({ service, status })) };
  const { run } = await world(t, {
    [`GET ${project}`]: {
      body: {
        name: 'shop',
        status: 'ready',
        environments: [{ name: 'prod', namespace: 'shop-prod', ready: true }],
        createdAt: '2026-11-21T11:00:00Z',
      },
    },
    ...Object.fromEntries(
      ['services', 'volumes', 'plans', 'functions', 'jobs'].map((kind) => [`GET ${project}/${kind}`, empty]),
    ),
    [`GET ${project}/apps`]: { body: { items: [bound] } },
    [`GET ${project}/apps/api/secrets`]: empty,
    [`GET ${project}/apps/api/git`]: { body: { configured: false } },
    [`GET ${project}/apps/api/bindings`]: { body: { items: bindings } },
  });
  const { code, stdout } = await run(['export', '--project', 'shop']);
  t.equal(code, 0);
  t.same((parse(stdout) as { apps: { api: { bindings: unknown } } }).apps.api.bindings, [
    'orders',
    { service: 'stock', prefix: 'STOCK_' },
    { service: 'legacy', prefix: 'OLD_', database: 'shop' },
    'cache',
    { service: 'late', prefix: 'LATE_' },
  ]);
});
