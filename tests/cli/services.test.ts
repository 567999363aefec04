import t from 'tap';
import { createdAt, id, sequence, world } from './world.ts';

const services = '/api/v1/projects/shop/services';
const service = {
  id,
  name: 'orders',
  project: 'shop',
  environment: 'prod',
  type: 'postgres',
  external: false,
  status: 'ready',
  host: 'orders.shop-prod.svc',
  port: 5432,
  tls: false,
  size: '1Gi',
  createdAt,
};

t.test('service create waits until the server answers; list and show', async (t) => {
  const pending = { ...service, status: 'pending', message: 'The server is starting.', host: undefined };
  const cli = await world(t, {
    [`POST ${services}`]: { status: 201, body: pending },
    [`GET ${services}/orders`]: sequence({ body: pending }, { body: service }),
    [`GET ${services}`]: { body: { items: [service, { ...service, name: 'cache', type: 'redis', port: 6379 }] } },
  });
  const ran = await cli.run(['service', 'create', 'orders', '--type', 'postgres', '--storage-class', 'fast']);
  t.equal(ran.code, 0, ran.stderr);
  t.equal(ran.stderr, 'orders: The server is starting.\n');
  t.same(cli.seen[0]?.body, { name: 'orders', type: 'postgres', storageClass: 'fast' });
  t.equal(
    ran.stdout,
    `Service:      orders
Project:      shop
Environment:  prod
Type:         postgres
Status:       ready
Managed:      yes
Host:         orders.shop-prod.svc
Port:         5432
Size:         1Gi
`,
  );
  t.equal(
    (await cli.run(['service', 'list'])).stdout,
    `SERVICE   TYPE       STATUS   HOST                   PORT   CREATED
orders    postgres   ready    orders.shop-prod.svc   5432   1 hour ago
cache     redis      ready    orders.shop-prod.svc   6379   1 hour ago
`,
  );
  t.equal((await cli.run(['service', 'list', '-o', 'name'])).stdout, 'orders\ncache\n');

  const message = 'The image cannot be pulled (ErrImagePull)';
  cli.routes[`GET ${services}/orders`] = { body: { ...service, status: 'failed', message } };
  const failed = await cli.run(['service', 'create', 'orders', '--type', 'postgres']);
  t.match(failed, { code: 1, stderr: /Service "orders" failed: The image cannot be pulled/ });
});

t.test('the password of an external service is read from stdin or a prompt', async (t) => {
  const external = { ...service, external: true, host: 'db.example.com', size: undefined };
  const cli = await world(t, {
    [`POST ${services}`]: { status: 201, body: external },
    [`GET ${services}/orders`]: { body: external },
  });
  const create = ['service', 'create', 'orders', '--type', 'mysql', '--external', 'db.example.com:3307', '--no-wait'];
  const entry = ['--username', 'shop', '--database', 'orders'];
  const ran = await cli.run([...create, ...entry, '--tls', '--password-stdin'], { stdin: 'hunter2\n' });
  t.equal(ran.code, 0, ran.stderr);
  t.same(cli.seen[0]?.body, {
    name: 'orders',
    type: 'mysql',
    external: { host: 'db.example.com', port: 3307, tls: true },
    credentials: { username: 'shop', database: 'orders', password: 'hunter2' },
  });
  t.match((await cli.run([...create, ...entry], { typed: ['hunter3\n'] })).stderr, /Password of shop: \n/);
  t.match(cli.seen[1]?.body, { credentials: { password: 'hunter3' } });

  const store = ['service', 'create', 'files', '--type', 'minio', '--external', '[2001:db8::7]:9001', '--no-wait'];
  await cli.run([...store, '--access-key', 'AK', '--bucket', 'b', '--password-stdin'], { stdin: 'sk' });
  t.match(cli.seen[2]?.body, {
    external: { host: '2001:db8::7', port: 9001 },
    credentials: { accessKey: 'AK', secretKey: 'sk', bucket: 'b' },
  });
  const open = ['service', 'create', 'cache', '--type', 'redis', '--external', '10.0.0.7', '--no-wait'];
  await cli.run(open);
  t.same(cli.seen[3]?.body, { name: 'cache', type: 'redis', external: { host: '10.0.0.7', tls: false } });
});

t.test('an impossible combination is a usage error', async (t) => {
  const cli = await world(t, {});
  for (const [args, message] of [
    [['orders'], /--type <postgres\|mysql\|mongodb\|redis\|minio> is required/],
    [['orders', '--type', 'oracle'], /must be one of postgres, mysql/],
    [['orders', '--type', 'postgres', '--username', 'shop'], /use --external <host>/],
    [
      ['orders', '--type', 'postgres', '--external', 'db.example.com:70000'],
      /takes a port from 1 to 65535, not "70000"/,
    ],
    [['orders', '--type', 'postgres', '--external', 'a:b:c'], /takes <host> or <host>:<port>/],
    [['orders', '--type', 'postgres', '--external', 'db.example.com', '--username', 'shop'], /use --password-stdin/],
  ] as const) {
    const ran = await cli.run(['service', 'create', ...args]);
    t.equal(ran.code, 2, args.join(' '));
    t.match(ran.stderr, message);
  }
  t.same(cli.seen, []);
});

t.test('service credentials, and delete after a confirmation', async (t) => {
  const { name, type, host, port, tls } = service;
  const cli = await world(t, {
    [`GET ${services}/orders/credentials`]: {
      body: { name, type, host, port, tls, username: 'svc', password: 's3cret', database: 'svc' },
    },
    [`GET ${services}/orders`]: { body: service },
    [`DELETE ${services}/orders`]: { status: 202, body: { ...service, status: 'deleting' } },
  });
  t.equal(
    (await cli.run(['service', 'credentials', 'orders'])).stdout,
    `Host:      orders.shop-prod.svc
Port:      5432
Username:  svc
Password:  s3cret
Database:  svc
`,
  );
  const declined = await cli.run(['service', 'delete', 'orders'], { typed: ['n\n'] });
  t.match(declined, { code: 1, stderr: /Delete service orders in shop\/prod, with all data of managed services\?/ });
  const deleted = await cli.run(['service', 'delete', 'orders', '--yes', '--no-wait']);
  t.match(deleted, { code: 0, stderr: 'service orders is being deleted\n' });
});
