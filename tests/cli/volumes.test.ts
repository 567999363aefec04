import t from 'tap';
import { createdAt, id, sequence, world } from './world.ts';

const volumes = '/api/v1/projects/shop/volumes';
const volume = {
  id,
  name: 'data',
  project: 'shop',
  environment: 'prod',
  size: '1Gi',
  capacity: '1Gi',
  storageClass: 'fast',
  accessMode: 'ReadWriteOnce',
  status: 'ready',
  mountedBy: [{ kind: 'Job', name: 'report' }],
  createdAt,
};

t.test('volume create, list and show', async (t) => {
  const cli = await world(t, {
    [`POST ${volumes}`]: { status: 201, body: volume },
    [`GET ${volumes}`]: { body: { items: [volume, { ...volume, name: 'scratch', mountedBy: [] }] } },
    [`GET ${volumes}/data`]: { body: volume },
  });
  const ran = await cli.run(['volume', 'create', 'data', '--size', '1Gi', '--class', 'fast', '-e', 'prod']);
  t.equal(ran.code, 0, ran.stderr);
  t.match(cli.seen[0], { query: { environment: 'prod' }, body: { name: 'data', size: '1Gi', storageClass: 'fast' } });
  t.equal(
    ran.stdout,
    `Volume:       data
Project:      shop
Environment:  prod
Status:       ready
Size:         1Gi
Capacity:     1Gi
Class:        fast
Access:       ReadWriteOnce
Mounted by:   job report
`,
  );
  t.equal(
    (await cli.run(['volume', 'list'])).stdout,
    `VOLUME    STATUS   SIZE   CLASS   MOUNTED BY   CREATED
data      ready    1Gi    fast    job report   1 hour ago
scratch   ready    1Gi    fast    -            1 hour ago
`,
  );
  t.match(JSON.parse((await cli.run(['volume', 'list', '-o', 'json'])).stdout), [volume, { name: 'scratch' }]);
  t.same(JSON.parse((await cli.run(['volume', 'show', 'data', '-o', 'json'])).stdout), volume);
});

t.test('volume resize waits for the storage, or until it needs a pod to continue', async (t) => {
  const growing = { ...volume, size: '2Gi', status: 'resizing' };
  const cli = await world(t, {
    [`PATCH ${volumes}/data`]: { body: growing },
    [`GET ${volumes}/data`]: sequence({ body: growing }, { body: { ...growing, capacity: '2Gi', status: 'ready' } }),
  });
  const resize = ['volume', 'resize', 'data', '--size', '2Gi'];
  t.match(await cli.run(resize), { code: 0, stderr: 'data: resizing (1Gi of 2Gi)\n', stdout: /Capacity: +2Gi/ });
  const waiting = {
    ...growing,
    mountedBy: [],
    message: 'The file system is resized when a pod next mounts the volume.',
  };
  cli.routes[`GET ${volumes}/data`] = { body: waiting };
  t.match(await cli.run(resize), { code: 0, stderr: /is resized when/ });
  const message = 'The class "local" cannot expand volumes.';
  cli.routes[`PATCH ${volumes}/data`] = { status: 409, body: { code: 'volume_not_expandable', message } };
  t.match(await cli.run(resize), { code: 1, stderr: /cannot expand volumes. \(volume_not_expandable\)/ });
});

t.test('volume delete says that the data is deleted, and names the workloads that mount it', async (t) => {
  const message =
    'The volume "data" is mounted by the job "report"; take it out there first (--no-volumes), or delete that.';
  const cli = await world(t, {
    [`GET ${volumes}/data`]: { body: volume },
    [`DELETE ${volumes}/data`]: { status: 409, body: { code: 'in_use', message } },
  });
  t.match(await cli.run(['volume', 'delete', 'data', '--yes']), {
    code: 1,
    stderr: /mounted by the job "report".*in_use/,
  });
  const declined = await cli.run(['volume', 'delete', 'data'], { typed: ['n\n'] });
  t.match(declined, { stderr: /Delete volume data in shop\/prod, with all data\?/ });
});
