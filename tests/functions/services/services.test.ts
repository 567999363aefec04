import t from 'tap';
import { createServiceRoutes } from '../../../functions/services/handler.ts';
import type { Stored } from '../../../runtime/contracts/kubernetes.ts';
import { kinds } from '../../../runtime/contracts/resources/kinds.ts';
import type { ServiceResource } from '../../../runtime/contracts/resources/service.ts';
import type { Secret } from '../../../runtime/workloads/owned-secret.ts';
import { KubeError } from '../../../runtime/kube/kube-client.ts';
import { testApi } from '../../support/api.ts';
import { fakeKube } from '../../support/fake-kube.ts';
import { recordingLog } from '../../support/log.ts';
import { platformConfigObject, readyProject, settings } from '../../support/objects.ts';

const path = '/api/v1/projects/shop/services';
const password = 'correct horse battery';

async function service(t: { teardown(end: () => unknown): void }) {
  const kube = fakeKube({ checkNamespaces: true });
  const spec = { ...settings, serviceImages: { postgres: 'registry.test/postgres:1' } };
  const annotations = { 'storageclass.kubernetes.io/is-default-class': 'true' };
  kube.seed({ ...platformConfigObject, spec }, ...readyProject('shop'), {
    apiVersion: 'storage.k8s.io/v1',
    kind: 'StorageClass',
    metadata: { name: 'local', annotations },
  });
  const recorded = recordingLog();
  const api = await testApi(t, { log: recorded.log, routes: createServiceRoutes({ kube }) });
  const create = (body: object) => api.call('POST', path, { body: { name: 'orders', type: 'postgres', ...body } });
  const external = { host: 'db.example.com' };
  const credentials = { username: 'shop', password, database: 'orders' };
  return { kube, api, create, recorded, external, credentials };
}

t.test('201: a managed service has its identity, its name and its storage', async (t) => {
  const { kube, create } = await service(t);
  const answer = await create({ size: '2Gi', storageClass: 'local' });
  t.equal(answer.status, 201, answer.text);
  t.match(answer.body, {
    name: 'orders',
    project: 'shop',
    environment: 'prod',
    type: 'postgres',
    external: false,
    status: 'pending',
    tls: false,
    size: '2Gi',
    storageClass: 'local',
  });
  t.match(kube.all(kinds.ServiceResource), [
    {
      metadata: { labels: { 'platform.svc/id': answer.body.id, 'platform.svc/project': 'shop' }, finalizers: [String] },
      spec: { type: 'postgres', storage: { size: '2Gi', storageClass: 'local' } },
    },
  ]);
  t.match(kube.all(kinds.WorkloadName), [{ metadata: { name: 'orders' }, spec: { kind: 'Service' } }]);
  t.same(kube.all(kinds.Secret), []);
});

t.test('credentials of an external service are in a separate Secret, can be shown, and that is logged', async (t) => {
  const { kube, api, create, recorded, external, credentials } = await service(t);
  const answer = await create({ external, credentials });
  t.equal(answer.status, 201, answer.text);
  const [stored] = kube.all<ServiceResource>(kinds.ServiceResource);
  t.match(stored?.spec, { type: 'postgres', external: { host: 'db.example.com', tls: false } });
  const [secret] = kube.all<Secret>(kinds.Secret);
  t.match(secret, {
    metadata: { name: 'service-orders-credentials', ownerReferences: [{ kind: 'Service', uid: stored?.metadata.uid }] },
    data: { password: Buffer.from(password).toString('base64') },
  });
  await kube.replaceStatus({
    ...stored,
    status: { phase: 'ready', host: external.host, port: 5432 },
  } as Stored<ServiceResource>);
  const details = await api.call('GET', `${path}/orders/credentials`);
  t.same(details.body, {
    name: 'orders',
    type: 'postgres',
    host: 'db.example.com',
    port: 5432,
    tls: false,
    ...credentials,
  });
  for (const url of [path, `${path}/orders`]) t.notMatch((await api.call('GET', url)).text, password);
  t.notMatch(JSON.stringify(stored), password);
  t.notMatch(recorded.text(), password);
  t.match(
    recorded.entries.filter(({ action }) => String(action).endsWith('.reveal')),
    [{ action: 'service.credentials.reveal', project: 'shop', environment: 'prod', service: 'orders', actor: String }],
  );
});

t.test('refusals say what to do, and leave nothing behind', async (t) => {
  const { kube, api, create, external, credentials } = await service(t);
  for (const [body, status, code, message] of [
    [{ name: 'My Orders' }, 422, 'invalid_value', /valid name/],
    [{ type: 'oracle' }, 400, 'invalid_request', /type/],
    [{ type: 'mysql' }, 409, 'service_not_installed', /apt-get install mariadb-server.*svc install.*--image-mysql/],
    [
      { type: 'minio' },
      409,
      'service_not_installed',
      /go install github.com\/minio\/minio@v.*svc install.*--image-minio/,
    ],
    [
      { type: 'mongodb' },
      409,
      'service_not_installed',
      /npm run program -- ferretdb \/.*--image-mongodb.*--type mongodb --external/,
    ],
    [{ size: '1Mi' }, 422, 'invalid_value', /at least 64Mi/],
    [{ storageClass: 'fast' }, 422, 'invalid_value', /no storage class "fast"\. Its storage classes: local/],
    [{ credentials }, 422, 'invalid_value', /generates the credentials/],
    [{ external: { host: 'https://db' } }, 422, 'invalid_value', /not a lower-case host name/],
    [{ external, size: '1Gi' }, 422, 'invalid_value', /no storage in the cluster/],
    [
      { external, credentials: { bucket: 'b' } },
      422,
      'invalid_value',
      /have no bucket\. Their fields: username, password/,
    ],
    [{ external, credentials: { token: 'x' } }, 400, 'invalid_request', /credentials/],
  ] as const) {
    const answer = await create(body);
    t.match(answer, { status, body: { code, message: message } }, JSON.stringify(body));
  }
  for (const kind of [kinds.ServiceResource, kinds.Secret, kinds.WorkloadName]) t.same(kube.all(kind), []);
  t.match(await api.call('GET', `${path}/orders`), { status: 404 });

  await create({});
  t.match(await create({}), { status: 409, body: { code: 'name_taken' } });
  t.match(await api.call('GET', `${path}/orders/credentials`), { status: 409, body: { code: 'not_ready' } });
});

t.test('a new service is deleted when its credentials cannot be stored', async (t) => {
  const { kube, create, external, credentials } = await service(t);
  const write = kube.create.bind(kube);
  kube.create = (object) =>
    object.kind === 'Secret' ? Promise.reject(new KubeError(500, 'InternalError', 'no')) : write(object);
  t.ok((await create({ external, credentials })).status >= 500);
  t.ok(kube.all(kinds.ServiceResource)[0]?.metadata.deletionTimestamp, 'its controller releases the name');
});

t.test('202: a deleted service shows `deleting` until its controller has finished', async (t) => {
  const { api, create } = await service(t);
  await create({});
  t.match(await api.call('GET', path), { body: { items: [{ name: 'orders', status: 'pending', size: '1Gi' }] } });
  t.match(await api.call('DELETE', `${path}/orders`), { status: 202, body: { status: 'deleting' } });
  t.match(await api.call('GET', `${path}/orders/credentials`), { status: 409, body: { code: 'not_ready' } });
  t.match(await create({}), { status: 409, body: { code: 'not_ready' } });
  t.equal((await api.call('DELETE', `${path}/none`)).status, 404);
});
