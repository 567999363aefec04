import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { connect, createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { createServer as createTlsServer, setDefaultCACertificates } from 'node:tls';
import { BSON, MongoClient, type Db, type Document } from 'mongodb';
import t, { type Test } from 'tap';
import { bindingVariables, type BoundCredentials } from '../../../runtime/workloads/bindings.ts';
import { openMongodb } from '../../../workers/bindings/mongodb.ts';
import { freePort } from '../../support/servers.ts';
import { storeServer } from '../../support/store-server.ts';
import { bindingWorld, runningAt } from './binding-world.ts';

type Way = Pick<BoundCredentials, 'username' | 'password' | 'database'>;

const server = await storeServer(t, 'mongodb');
const entry = { username: 'svc', password: server.password, database: 'admin' };
const orders = { service: 'orders', version: 1 };
const refused = { message: 'Authentication failed.' };

/** Works in the database that these credentials name, without any other information. */
async function as<T>(
  { username = '', password = '', database = '' }: Way,
  work: (database: Db, client: MongoClient) => Promise<T>,
  { host, port } = server,
): Promise<T> {
  const client = new MongoClient(`mongodb://${username}:${password}@${host}:${port}/${database}`);
  try {
    return await work(client.db(), client);
  } finally {
    await client.close();
  }
}

const write = (value: number) => (database: Db) => database.collection('t').insertOne({ value });
const read = (database: Db) => database.collection('t').findOne({}, { projection: { _id: 0 } });
const databases = async () => {
  const databases = await as(entry, (database) => database.admin().listDatabases());
  return databases.databases.map(({ name }) => name);
};

t.test('a binding creates a user for a database of its own, until it is removed', async (t) => {
  const { addFunction, addService, work } = await bindingWorld(t);
  await addService('orders', { type: 'mongodb' }, { status: runningAt(server), credentials: entry });
  const [api, other] = [await addFunction('api'), await addFunction('other')];
  await api.bind(orders);
  await other.bind(orders);
  await work();
  t.same(await api.status('orders'), { ...orders, phase: 'ready', database: 'orders_api_prod' });
  const [own, foreign] = [await api.credentials('orders'), await other.credentials('orders')];
  const names = bindingVariables({}, own).map(({ name }) => name);
  t.same(names, ['DB_HOST', 'DB_PORT', 'DB_USERNAME', 'DB_PASSWORD', 'DB_NAME', 'DATABASE_URL']);
  await as(own, write(7));
  await as(foreign, write(8));
  t.same(await as(own, read), { value: 7 });
  t.not(own.username, foreign.username);
  await t.rejects(as({ ...foreign, password: own.password ?? '' }, read), refused);

  await api.bind({ ...orders, version: 2 });
  await work();
  const second = await api.credentials('orders');
  await t.rejects(as(own, read), refused, 'a new password replaces the old one');
  t.same(await as(second, read), { value: 7 });

  await api.bind();
  await work();
  await t.rejects(as(second, read), refused);
  t.ok((await databases()).includes('orders_api_prod'), 'the data remains');
  await api.bind({ ...orders, version: 3, dropDatabase: true });
  await work();
  const remaining = (await databases()).filter((name) => name.startsWith('orders_'));
  t.same(remaining, ['orders_other_prod']);
  t.equal((await api.object()).spec.bindings, undefined);
});

t.test('a database that no binding created is refused until it is named, and never dropped', async (t) => {
  const { addFunction, addService, work, workLater } = await bindingWorld(t);
  await addService('orders', { type: 'mongodb' }, { status: runningAt(server), credentials: entry });
  const cart = await addFunction('cart');
  await as(entry, async (_, client) => {
    for (const name of ['orders_cart_prod', 'shop']) await write(1)(client.db(name));
  });
  await cart.bind(orders);
  await work();
  t.match(await cart.status('orders'), {
    phase: 'failed',
    message: /that no binding created\. To use it, bind with --database/,
  });
  await cart.bind({ ...orders, version: 2, database: 'shop' });
  await workLater();
  t.same(await as(await cart.credentials('orders'), read), { value: 1 });
  await cart.bind({ ...orders, version: 2, database: 'shop', dropDatabase: true });
  await workLater();
  t.equal((await cart.object()).spec.bindings, undefined);
  t.ok((await databases()).includes('shop'));
});

/** A proxy to the server that records all commands and answers some itself. */
async function between(t: Test, answer: (command: Document) => Document | undefined) {
  const requests: Document[] = [];
  const way = createServer((client) => {
    const upstream = connect(server.port, server.host);
    client.on('error', () => upstream.destroy());
    upstream.on('error', () => client.destroy());
    upstream.pipe(client);
    let rest = Buffer.alloc(0);
    client.on('close', () => upstream.destroy());
    client.on('data', (data) => {
      rest = Buffer.concat([rest, data]);
      while (rest.length >= 4 && rest.length >= rest.readInt32LE()) {
        const message = rest.subarray(0, rest.readInt32LE());
        rest = rest.subarray(message.length);
        // https://www.mongodb.com/docs/manual/reference/mongodb-wire-protocol: only the greeting uses the older message
        // format.
        const command = message.readInt32LE(12) === 2013 ? BSON.deserialize(message.subarray(21)) : {};
        const own = answer(command);
        requests.push(command);
        if (own === undefined) {
          upstream.write(message);
          continue;
        }
        const head = Buffer.alloc(21);
        const body = BSON.serialize(own);
        for (const [at, value] of [head.length + body.length, 1, message.readInt32LE(4), 2013].entries()) {
          head.writeInt32LE(value, at * 4);
        }
        client.write(Buffer.concat([head, body]));
      }
    });
  });
  way.listen(0, '127.0.0.1');
  await once(way, 'listening');
  t.teardown(() => way.close());
  return { heard: requests, host: '127.0.0.1', port: (way.address() as AddressInfo).port };
}

t.test('on a server with roles, the user may read and write its database and do nothing else', async (t) => {
  const { addFunction, addService, work } = await bindingWorld(t);
  const way = await between(t, ({ createUser }) => (createUser === undefined ? undefined : { ok: 1 }));
  await addService('orders', { type: 'mongodb' }, { status: runningAt(way), credentials: entry });
  const roles = await addFunction('roles');
  await roles.bind(orders);
  await work();
  t.match(await roles.status('orders'), { phase: 'ready' });
  const commands = way.heard.filter(({ createUser }) => createUser !== undefined);
  const database = 'orders_roles_prod';
  t.match(commands, [{ $db: database, roles: [{ role: 'readWrite', db: database }] }]);
  t.same(
    way.heard.filter(({ updateUser }) => updateUser !== undefined),
    [],
  );
});

t.test('an external server uses the registered credentials; errors contain no secrets', async (t) => {
  const { addFunction, addService, work } = await bindingWorld(t);
  const way = await between(t, ({ createUser }) =>
    createUser === undefined
      ? undefined
      : { ok: 0, code: 13, codeName: 'Unauthorized', errmsg: 'not authorized on x to execute command' },
  );
  const guest = { username: 'guest', password: 'guests-secret', database: 'guests' };
  await as(entry, async (_, client) => {
    await client.db('guests').command({ createUser: guest.username, pwd: guest.password, roles: [] });
  });
  const external = { type: 'mongodb' as const, external: { host: way.host, port: way.port, tls: false } };
  const add = (name: string, credentials: Way, host = way.host, port = way.port) =>
    addService(
      name,
      { ...external, external: { ...external.external, host, port } },
      { status: runningAt({ host, port }), credentials },
    );
  await add('theirs', guest);
  // The user is in `admin`, although another database was registered.
  await add('elsewhere', { ...entry, database: 'shop' });
  await add('wrong', { ...entry, password: 'not-this' });
  await add('nobody', {});
  await add('away', entry, way.host, await freePort());
  await add('inside', entry, '10.1.2.3');
  const guests = await addFunction('guests');
  const bound = ['theirs', 'elsewhere', 'wrong', 'nobody', 'away', 'inside'].map((service) => ({
    service,
    version: 1,
  }));
  await guests.bind(...bound);
  await work();
  for (const [service, message] of [
    ['theirs', /not authorized on x.*--database/],
    ['elsewhere', /not authorized on x.*--database/],
    ['wrong', /refused the request or is unreachable: Authentication failed/],
    ['nobody', /has no user: register it with a user/],
    ['away', /is unreachable: connect ECONNREFUSED/],
    ['inside', /in a private network that workloads may not use/],
  ] as const) {
    t.match(await guests.status(service), { phase: 'failed', message }, service);
  }
  t.notMatch(JSON.stringify(await guests.object()), /guests-secret|not-this/);

  const registered = await addFunction('registered');
  await registered.bind({ service: 'theirs', version: 1, database: 'guests' });
  await work();
  t.match(await registered.credentials('theirs'), guest);
});

t.test('over TLS the certificate must match the host name, not the address it resolved to', async (t) => {
  const folder = t.testdir();
  const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')];
  execFileSync(
    'openssl',
    [
      'req',
      '-x509',
      '-newkey',
      'ec',
      '-pkeyopt',
      'ec_paramgen_curve:prime256v1',
      '-nodes',
      '-days',
      '1',
      '-subj',
      '/CN=docs.example.com',
      '-addext',
      'subjectAltName=DNS:docs.example.com',
      '-keyout',
      key,
      '-out',
      cert,
    ],
    { stdio: 'ignore' },
  );
  const certificate = readFileSync(cert, 'utf8');
  const way = createTlsServer({ key: readFileSync(key), cert: certificate }, (client) => {
    const upstream = connect(server.port, server.host);
    for (const [one, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      one.on('error', () => other.destroy());
      one.on('close', () => other.destroy());
      one.pipe(other);
    }
  });
  way.listen(0, '127.0.0.1');
  await once(way, 'listening');
  t.teardown(() => way.close());
  const { port } = way.address() as AddressInfo;
  const target = { address: '127.0.0.1', port, tls: true, managed: false, credentials: entry };
  const open = (host: string) => openMongodb({ ...target, host });
  await t.rejects(open('docs.example.com'), { name: 'BindingError', message: /self-signed certificate/ });
  setDefaultCACertificates([certificate]);
  const docs = await open('docs.example.com');
  t.equal(await docs.databases?.exists('admin'), true);
  await docs.close();
  await t.rejects(open('other.example.com'), { name: 'BindingError', message: /does not match certificate/ });
});

t.test(
  'data survives a restart, and a first start that was cut off before it created its user is repeated',
  async (t) => {
    const own = await storeServer(t, 'mongodb');
    await as(entry, (_, client) => write(7)(client.db('shop')), own);
    await own.stop();
    await own.start();
    t.same(await as(entry, (_, client) => read(client.db('shop')), own), { value: 7 });
    await own.stop();
    for (const suffix of ['', '-wal', '-shm']) {
      rmSync(join(own.data, `admin.sqlite${suffix}`), { force: true });
      if (existsSync(join(own.data, `shop.sqlite${suffix}`))) {
        renameSync(join(own.data, `shop.sqlite${suffix}`), join(own.data, `admin.sqlite${suffix}`));
      }
    }
    await own.start();
    t.match(await as(entry, (database) => database.command({ ping: 1 }), own), { ok: 1 });
  },
);
