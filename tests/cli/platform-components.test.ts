import t from 'tap';
import type { PlatformStatus } from '../../runtime/contracts/api/platform.ts';
import { world } from './world.ts';

type Component = PlatformStatus['components'][number];

const statusOf = (...components: Component[]): { body: PlatformStatus } => ({
  body: { version: '1.2.3', cluster: 'home', appsDomain: 'apps.example.com', components },
});
const statusPath = 'GET /api/v1/platform/status';
const componentPath = '/api/v1/platform/components/metrics-store';
const store: Component = { name: 'metrics-store', status: 'on', memory: '1Gi' };

t.test('status lists the components with their memory, and why a limit was raised or not', async (t) => {
  const raised = {
    raisedAt: '2026-03-01T10:00:00.000Z',
    from: '512Mi',
    to: '1Gi',
    reason: 'killed for memory at 10:00',
  };
  const { run, routes } = await world(t, {
    [statusPath]: statusOf(
      { name: 'database', status: 'on' },
      { ...store, raised },
      { name: 'log-store', status: 'disabled', memory: '384Mi', message: 'its data is kept' },
    ),
  });
  const { code, stdout } = await run(['platform', 'status']);
  t.equal(code, 0, 'disabled is not unhealthy');
  t.match(stdout, /Version: +1\.2\.3\nCluster: +home/);
  t.match(stdout, /metrics-store +on +1Gi +raised from 512Mi to 1Gi at 2026-03-01T10:00:00\.000Z: killed for memory/);
  t.match(stdout, /log-store +disabled +384Mi +its data is kept\n/);
  routes[statusPath] = statusOf({ ...store, status: 'unhealthy', notRaised: 'AtCeiling', memory: '4Gi' });
  t.match(await run(['platform', 'status']), {
    code: 1,
    stdout: /metrics-store +unhealthy +4Gi +was killed for memory at the highest limit/,
    stderr: /Not healthy: metrics-store\./,
  });
});

t.test('enable, disable and resize send the change, and wait until it is applied', async (t) => {
  const states: Component['status'][] = [];
  const { run, seen } = await world(t, {
    [`PATCH ${componentPath}`]: { body: { ...store, status: 'starting' } },
    [statusPath]: () => statusOf({ ...store, status: states.shift() ?? 'on' }),
  });
  const sent = async (...args: string[]) => {
    const { code, stderr } = await run(['platform', ...args]);
    t.equal(code, 0, stderr);
    return seen.findLast(({ method }) => method === 'PATCH')?.body;
  };
  states.push('starting', 'unhealthy', 'on');
  t.same(await sent('enable', 'metrics-store'), { enabled: true });
  t.same(states, [], 'it polled until the component was on');
  states.push('stopping', 'disabled');
  t.same(await sent('disable', 'metrics-store'), { enabled: false });
  states.push('disabled');
  t.same(await sent('disable', 'metrics-store', '--delete-data', '--yes'), { enabled: false, deleteData: true });
  t.same(await sent('resize', 'metrics-store', '--memory', '2Gi'), { memory: '2Gi' });
  t.same(await sent('resize', 'metrics-store', '--memory', 'default', '--no-wait'), { memory: null });
  states.push('disabled');
  t.same(await sent('resize', 'metrics-store', '--memory', '2Gi'), { memory: '2Gi' });
  t.same(states, [], 'a limit can be set before the component is enabled');
  const requests = seen.length;
  t.match(await run(['platform', 'disable', 'metrics-store', '--delete-data']), { code: 2, stderr: /Delete all data/ });
  t.match(await run(['platform', 'enable', 'grafana']), { code: 2, stderr: /Use metrics-store, node-exporter,/ });
  t.match(await run(['platform', 'resize', 'metrics-store']), { code: 2, stderr: /--memory <size> is required/ });
  t.equal(seen.length, requests);
});

t.test('dashboards prints how to reach Grafana, and says when it does not run', async (t) => {
  const { run, routes } = await world(t, { [statusPath]: statusOf({ name: 'dashboards', status: 'on' }) });
  const { code, stdout } = await run(['platform', 'dashboards', '--port', '3333']);
  t.equal(code, 0);
  t.match(stdout, /URL: +http:\/\/localhost:3333\nUser: +admin\n/);
  t.match(stdout, /Password: +kubectl -n monitoring get secret grafana-admin -o 'go-template=.*admin-password.*'\n/);
  t.match(stdout, /Forward: +kubectl -n monitoring port-forward service\/grafana 3333:80\n/);
  routes[statusPath] = statusOf({ name: 'dashboards', status: 'unhealthy', message: 'ImagePullBackOff' });
  t.match(await run(['platform', 'dashboards']), { code: 0, stderr: /are not ready: ImagePullBackOff/ });
  routes[statusPath] = statusOf({ name: 'dashboards', status: 'disabled' });
  t.match(await run(['platform', 'dashboards']), {
    code: 1,
    stderr: /are disabled.*\n.*svc platform enable dashboards/,
  });
  routes[statusPath] = statusOf();
  t.match(await run(['platform', 'dashboards']), { code: 1, stderr: /has no dashboards.*\n.*svc top/ });
});
