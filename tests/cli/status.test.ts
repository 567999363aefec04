import t from 'tap';
import { isHost, readHost, readOnlyVolumes, type Host } from '../../cli/host-volumes.ts';
import { world } from './world.ts';

const mount = (path: string, options: string, superOptions: string) =>
  `36 35 98:0 / ${path} ${options} shared:1 - ext4 /dev/sdb ${superOptions}`;
const host = (mounts: readonly string[], rest: Partial<Host> = {}): Host => ({
  name: 'n1',
  addresses: ['10.0.0.1', '127.0.0.1'],
  mounts: mounts.join('\n'),
  folders: () => [],
  ...rest,
});
const kubelet = (plugin: string, name: string, root = '/var/lib/kubelet') =>
  `${root}/pods/1a2b/volumes/kubernetes.io~${plugin}/${name}`;

t.test('persistent volumes of the kubelet that are read-only are named; others are not', (t) => {
  const mounts = [
    mount('/', 'rw,relatime', 'rw'),
    mount(`${kubelet('csi', 'pvc-1')}/mount`, 'rw,relatime', 'ro,errors=remount-ro'),
    mount(kubelet('nfs', 'pvc-2', '/data/kubelet'), 'ro,relatime', 'rw'),
    mount(`${kubelet('csi', 'pvc-3')}/mount`, 'rw,relatime', 'rw'),
    mount(kubelet('projected', 'kube-api-access-x'), 'ro', 'rw'),
    mount(kubelet('secret', 'token'), 'ro', 'ro'),
    mount('/boot', 'ro', 'ro'),
    'no mount line',
    '',
  ];
  t.same(readOnlyVolumes(host(mounts)), ['pvc-1', 'pvc-2']);
  t.same(readOnlyVolumes(host([])), []);
  t.end();
});

t.test('read-only mounts of provisioned volumes are named, wherever the provisioner keeps them', (t) => {
  const claim = 'pvc-0b1f8c4e-6a52-4d3b-9a0e-5f2d8c7b6a91';
  const mounts = [
    mount(`/data/volumes/${claim}_shop-prod_uploads`, 'ro', 'rw'),
    mount(`/mnt/disks/${claim.replace('0b', '1c')}`, 'rw', 'rw'),
    mount(`/mnt/disks/${claim.replace('0b', '2d')}/lost+found`, 'ro', 'rw'),
  ];
  t.same(readOnlyVolumes(host(mounts)), [`${claim}_shop-prod_uploads`]);
  t.end();
});

t.test('volumes that are folders of this machine are as read-only as the file system that they are on', (t) => {
  const folders = (path: string) =>
    path === '/var/lib/rancher/k3s/storage'
      ? ['pvc-9_shop-prod_uploads']
      : path === '/opt/local-path-provisioner'
        ? ['pvc-8']
        : [];
  const mounts = [
    mount('/', 'rw', 'rw'),
    mount('/var/lib/rancher', 'rw', 'ro'),
    mount('/srv/a\\040b', 'ro', 'rw'),
    mount('/srv/front', 'ro', 'ro'),
    mount('/srv/front', 'rw', 'rw'),
  ];
  const embedded = [
    { name: 'shop-prod/data', folder: '/srv/a b/claims/u1' },
    { name: 'shop-prod/other', folder: '/srv/ab/claims/u2' },
    { name: 'shop-prod/front', folder: '/srv/front/u3' },
  ];
  t.same(readOnlyVolumes(host(mounts, { folders }), embedded), ['pvc-9_shop-prod_uploads', 'shop-prod/data']);
  t.same(readOnlyVolumes(host([mount('/', 'rw', 'ro')]), embedded).length, 3);
  t.end();
});

t.test('a node is this machine by its name or an address that is not loopback', (t) => {
  const machine = host([], { name: 'N1' });
  t.equal(isHost(machine, { name: 'n1', addresses: [] }), true);
  t.equal(isHost(machine, { name: 'other', addresses: ['10.0.0.1'] }), true);
  t.equal(isHost(machine, { name: 'other', addresses: ['127.0.0.1'] }), false);
  t.equal(isHost(machine, { name: 'n2', addresses: ['10.0.0.2'] }), false);
  t.type(readHost().mounts, 'string');
  t.same(readHost().folders('/does/not/exist'), []);
  t.end();
});

const health = { healthy: true, managerStarted: true, cacheSynced: true, controllers: [] };
const components = [
  { name: 'api', status: 'on' },
  { name: 'controllers', status: 'on' },
  { name: 'checkers', status: 'on', message: '2 of 2 ready, 2 with current keys' },
  { name: 'metrics-store', status: 'disabled' },
];
const platform = { version: '1', cluster: 'home', appsDomain: 'apps.example.com', components };
const node = (name: string, ready = true) => ({ name, ready, addresses: [] });

t.test('status names parts, nodes, read-only volumes of this host, and nodes that it could not check', async (t) => {
  const { run, routes } = await world(t, {
    'GET /health/controllers': { body: health },
    'GET /api/v1/platform/status': { body: { ...platform, nodes: [node('n1'), node('n2')] } },
  });
  const fine = await run(['status'], { host: host([mount('/', 'rw', 'rw')]) });
  t.match(fine, { code: 0, stderr: /volumes of other nodes are not checked; run svc status on them: n2\n/ });
  t.match(
    fine.stdout,
    /checkers +on +2 of 2 ready, 2 with current keys\nmetrics-store +disabled\nnode n1 +on\nnode n2 +on/,
  );

  const readOnly = host([mount(kubelet('csi', 'pvc-1'), 'rw', 'ro')]);
  const broken = await run(['status', '-o', 'json'], { host: readOnly });
  t.match(broken, { code: 1, stderr: /Not healthy: volume pvc-1\./ });
  t.match(JSON.parse(broken.stdout), { healthy: false, readOnlyVolumes: ['pvc-1'], uncheckedNodes: ['n2'] });

  const elsewhere = await run(['status', '-o', 'json'], { host: { ...readOnly, name: 'laptop', addresses: [] } });
  t.equal(elsewhere.code, 0, 'the volumes of a machine that is no node do not count');
  t.match(JSON.parse(elsewhere.stdout), { healthy: true, uncheckedNodes: ['n1', 'n2'] });
  t.equal('readOnlyVolumes' in (JSON.parse(elsewhere.stdout) as object), false);

  routes['GET /api/v1/platform/status'] = { body: { ...platform, nodes: [node('n2', false)] } };
  t.match(await run(['status']), { code: 1, stderr: /Not healthy: node n2\./ });
  routes['GET /api/v1/platform/status'] = { body: platform };
  t.equal((await run(['status'])).code, 0, 'a disabled part is not unhealthy');
});

t.test('the embedded cluster has no nodes: its volumes are those of this machine', async (t) => {
  const { run, api } = await world(t, {
    'GET /health/controllers': { body: health },
    'GET /api/v1/platform/status': { body: { ...platform, nodes: [] } },
  });
  const volumes = () => Promise.resolve([{ name: 'shop-prod/data', folder: '/var/lib/svc/node/claims/u' }]);
  const local = { target: 'local', api, process: 7, volumes } as const;
  t.match(await run(['status'], { local, host: host([mount('/', 'rw', 'rw')]) }), { code: 0 });
  t.match(await run(['status'], { local, host: host([mount('/var/lib/svc', 'ro', 'rw')]) }), {
    code: 1,
    stdout: /volume shop-prod\/data +read-only/,
  });
});
