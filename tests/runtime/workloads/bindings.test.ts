import t from 'tap';
import type { Stored } from '../../../runtime/contracts/kubernetes.ts';
import type { FunctionResource } from '../../../runtime/contracts/resources/function.ts';
import { newId } from '../../../runtime/domain/ids.ts';
import { workloadLabels } from '../../../runtime/domain/labels.ts';
import {
  bindingData,
  bindingSecretName,
  bindingVariables,
  boundCredentials,
  checkBindingNames,
  readBinding,
  type BoundCredentials,
} from '../../../runtime/workloads/bindings.ts';
import { ownedSecret } from '../../../runtime/workloads/owned-secret.ts';
import { fakeKube, type FakeKube } from '../../support/fake-kube.ts';

const database: BoundCredentials = {
  type: 'postgres',
  host: 'orders.shop-prod.svc',
  port: 5432,
  tls: false,
  username: 'api_1',
  password: 'p:w/d',
  database: 'orders_api_prod',
};

function functionOf(kube: FakeKube, name: string): Promise<Stored<FunctionResource>> {
  return kube.create<FunctionResource>({
    apiVersion: 'platform.svc/v1',
    kind: 'Function',
    metadata: { name, namespace: 'shop-prod', labels: workloadLabels({ kind: 'Function', name, id: newId() }) },
    spec: { runtime: 'node', code: 'x', trigger: 'http', port: 8080, idleTimeoutSeconds: 300 },
  });
}

const named = (credentials: BoundCredentials, prefix?: string) =>
  Object.fromEntries(
    bindingVariables({ ...(prefix !== undefined && { prefix }) }, credentials).map(({ name, value }) => [name, value]),
  );

t.test('a binding sets the variables of its type, with its prefix or the default', (t) => {
  const values = { HOST: 'orders.shop-prod.svc', PORT: '5432', USERNAME: 'api_1', PASSWORD: 'p:w/d' };
  const withPrefix = (prefix: string) =>
    Object.fromEntries(
      Object.entries({ ...values, NAME: 'orders_api_prod' }).map(([name, value]) => [prefix + name, value]),
    );
  const at = 'api_1:p%3Aw%2Fd@orders.shop-prod.svc:5432/orders_api_prod';
  t.same(named(database), { ...withPrefix('DB_'), DATABASE_URL: `postgresql://${at}` });
  t.equal(named({ ...database, tls: true })['DATABASE_URL'], `postgresql://${at}?sslmode=require`);
  const mysql = { ...database, type: 'mysql' } as const;
  t.same(named(mysql, 'ORDERS_'), { ...withPrefix('ORDERS_'), ORDERS_URL: `mysql://${at}` });
  t.equal(named({ ...database, type: 'mongodb' })['DATABASE_URL'], `mongodb://${at}`);
  t.same(named({ type: 'mongodb', host: 'docs', port: 27_017, tls: false, database: 'docs_api_prod' }), {
    DB_HOST: 'docs',
    DB_PORT: '27017',
    DB_NAME: 'docs_api_prod',
  });
  t.same(named({ type: 'redis', host: 'cache', port: 6379, tls: false, password: 'p:w/d' }), {
    REDIS_HOST: 'cache',
    REDIS_PORT: '6379',
    REDIS_PASSWORD: 'p:w/d',
    REDIS_URL: 'redis://:p%3Aw%2Fd@cache:6379',
  });
  t.same(named({ type: 'redis', host: '2001:db8::1', port: 6380, tls: true, username: 'u', password: 'p' }), {
    REDIS_HOST: '2001:db8::1',
    REDIS_PORT: '6380',
    REDIS_USERNAME: 'u',
    REDIS_PASSWORD: 'p',
    REDIS_URL: 'rediss://u:p@[2001:db8::1]:6380',
  });
  const store = { type: 'minio', host: 'files', port: 9000, tls: false, accessKey: 'a', secretKey: 's' } as const;
  t.same(named({ ...store, bucket: 'api', region: 'us-east-1' }), {
    S3_ENDPOINT: 'http://files:9000',
    S3_ACCESS_KEY: 'a',
    S3_SECRET_KEY: 's',
    S3_BUCKET: 'api',
    S3_REGION: 'us-east-1',
  });
  t.end();
});

t.test('two bindings of one function never set the same name, and a prefix makes valid names', (t) => {
  const orders = { service: 'orders', type: 'postgres' } as const;
  t.doesNotThrow(() => checkBindingNames([orders, { service: 'cache', type: 'redis' }]));
  t.doesNotThrow(() => checkBindingNames([orders, { service: 'stock', type: 'mysql', prefix: 'STOCK_' }]));
  t.throws(() => checkBindingNames([orders, { service: 'stock', type: 'mysql' }]), {
    code: 'invalid_value',
    message: /"orders" and "stock" would both set DB_HOST.*--prefix MY_, or --bind stock=MY_ for a new workload/,
  });
  t.throws(() => checkBindingNames([orders, { service: 'cache', type: 'redis', prefix: 'DB_' }]), {
    message: /DB_HOST/,
  });
  for (const prefix of ['1_', 'A-', 'A B', '$']) {
    t.throws(() => checkBindingNames([{ ...orders, prefix }]), { code: 'invalid_value', details: { field: 'prefix' } });
  }
  t.throws(() =>
    checkBindingNames([
      { ...orders, prefix: '' },
      { service: 'a', type: 'mysql', prefix: '' },
    ]),
  );
  t.end();
});

t.test('a stored binding is read completely, and only from its own workload', async (t) => {
  const kube = fakeKube();
  const [api, other] = [await functionOf(kube, 'api'), await functionOf(kube, 'other')];
  t.equal(await readBinding(kube, api, 'orders'), undefined);
  const data = bindingData(database, 3);
  await kube.create(ownedSecret(api, bindingSecretName(api, 'orders'), data));
  t.same(await readBinding(kube, api, 'orders'), database);
  t.same(boundCredentials(data), { ...database, version: 3 });
  await kube.create(ownedSecret(api, bindingSecretName(other, 'orders'), data));
  t.equal(await readBinding(kube, other, 'orders'), undefined, 'a Secret of another function is ignored');
  t.equal(boundCredentials({}), undefined);
});
