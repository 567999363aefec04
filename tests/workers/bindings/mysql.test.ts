import { createConnection, type RowDataPacket } from 'mysql2/promise';
import t from 'tap';
import type { BoundCredentials } from '../../../runtime/workloads/bindings.ts';
import { storeServer } from '../../support/store-server.ts';
import { missingProgram } from '../../support/test-programs.ts';
import { bindingWorld, runningAt } from './binding-world.ts';

type Way = Pick<BoundCredentials, 'username' | 'password' | 'database'>;

const missing = missingProgram('mariadb-server');
if (missing !== false) {
  t.pass('bindings to MariaDB', { skip: missing });
} else {
  const server = await storeServer(t, 'mysql');
  const entry = { username: 'svc', password: server.password, database: 'svc' };
  const orders = { service: 'orders', version: 1 };

  /** Runs statements with these credentials; resolves to the last one's rows. */
  const as = async ({ username = '', password = '', database = '' }: Way, ...statements: string[]) => {
    const { host, port } = server;
    const connection = await createConnection({ host, port, user: username, password, database });
    try {
      let rows: RowDataPacket[] = [];
      for (const statement of statements) [rows] = await connection.query<RowDataPacket[]>(statement);
      return rows;
    } finally {
      await connection.end();
    }
  };

  t.test(
    'a binding creates a database and a user that can access only that database, until it is removed',
    async (t) => {
      const { addFunction, addService, work } = await bindingWorld(t);
      await addService('orders', { type: 'mysql' }, { status: runningAt(server), credentials: entry });
      const [api, other] = [await addFunction('api'), await addFunction('other')];
      await api.bind(orders);
      await other.bind(orders);
      await work();
      t.same(await api.status('orders'), { ...orders, phase: 'ready', database: 'orders_api_prod' });
      const [own, foreign] = [await api.credentials('orders'), await other.credentials('orders')];
      await as(own, 'CREATE TABLE t (id int PRIMARY KEY)', 'INSERT INTO t VALUES (7)');
      for (const database of [own.database ?? '', 'svc', 'mysql']) {
        await t.rejects(as({ ...foreign, database }, 'SELECT 1'), { code: 'ER_DBACCESS_DENIED_ERROR' }, database);
      }
      // The underscores in the names must not be wildcards in the grants.
      await as(entry, 'CREATE DATABASE `ordersXapiXprod`');
      await t.rejects(as({ ...own, database: 'ordersXapiXprod' }, 'SELECT 1'), { code: 'ER_DBACCESS_DENIED_ERROR' });
      await t.rejects(as(own, 'CREATE DATABASE x'), { code: 'ER_DBACCESS_DENIED_ERROR' });

      await api.bind({ ...orders, version: 2 });
      await work();
      const second = await api.credentials('orders');
      await t.rejects(as(own, 'SELECT 1'), { code: 'ER_ACCESS_DENIED_ERROR' });
      t.match(await as(second, 'SELECT * FROM t'), [{ id: 7 }]);

      const open = await createConnection({
        host: server.host,
        port: server.port,
        user: second.username ?? '',
        password: second.password ?? '',
      });
      const closed = new Promise((resolve) => open.on('error', resolve));
      await api.bind();
      await work();
      await closed;
      await t.rejects(as(second, 'SELECT 1'), { code: /^ER_ACCESS_DENIED/ });
      t.match(await as({ ...entry, database: 'orders_api_prod' }, 'SELECT * FROM t'), [{ id: 7 }], 'the data remains');
      await api.bind({ ...orders, version: 3, dropDatabase: true });
      await work();
      t.same(await as(entry, `SHOW DATABASES LIKE 'orders\\_api\\_prod'`), []);
      t.equal((await api.object()).spec.bindings, undefined);
    },
  );

  t.test(
    'a database that the platform did not create is used when the binding names it, with access to its rows only',
    async (t) => {
      const { addFunction, addService, work } = await bindingWorld(t);
      await addService('orders', { type: 'mysql' }, { status: runningAt(server), credentials: entry });
      const api = await addFunction('api');
      await as(entry, 'CREATE DATABASE shop', 'CREATE TABLE shop.sales (id int)', 'INSERT INTO shop.sales VALUES (1)');
      await api.bind({ ...orders, database: 'shop' });
      await work();
      const own = await api.credentials('orders');
      t.match(await as(own, 'UPDATE sales SET id = 2', 'SELECT * FROM sales'), [{ id: 2 }]);
      await t.rejects(as(own, 'DROP TABLE sales'), { code: 'ER_TABLEACCESS_DENIED_ERROR' });
    },
  );

  t.test('a server’s refusal is reported without the password, and an external user may lack privileges', async (t) => {
    const { addFunction, addService, work } = await bindingWorld(t);
    await as(entry, `CREATE USER guest@'%' IDENTIFIED BY 'guests secret'`);
    const external = { host: server.host, port: server.port, tls: false };
    const credentials = { username: 'guest', password: 'guests secret' };
    await addService('orders', { type: 'mysql', external }, { status: runningAt(server), credentials });
    await addService(
      'wrong',
      { type: 'mysql' },
      { status: runningAt(server), credentials: { ...entry, password: 'x' } },
    );
    const api = await addFunction('api');
    await api.bind(orders, { service: 'wrong', version: 1 });
    await work();
    t.match(await api.status('orders'), { phase: 'failed', message: /denied.*--database/ });
    t.match(await api.status('wrong'), { phase: 'failed', message: /denied/i });
    t.notMatch(JSON.stringify(await api.object()), /guests secret/);
  });
}
