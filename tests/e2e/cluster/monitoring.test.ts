import t from 'tap';
import { componentImage, monitoringComponents } from '../../../infra/manifests/monitoring/components.ts';
import { dashboardDefinitions } from '../../../infra/manifests/monitoring/dashboard-definitions.ts';
import { componentNames } from '../../../runtime/domain/monitoring.ts';
import type { PlatformStatus } from '../../../runtime/contracts/api/platform.ts';
import { eventually, runningPlatform, testProject } from '../../support/platform.ts';

const platform = await runningPlatform();
const store = 'metrics-store';

t.teardown(() => platform.ok(['platform', 'disable', store, '--delete-data', '--yes']));

async function get<T>(...args: string[]): Promise<T> {
  const { code, stdout, stderr } = await platform.kubectl('-n', 'monitoring', 'get', ...args, '-o', 'json');
  if (code !== 0) throw new Error(stderr);
  return JSON.parse(stdout) as T;
}

async function component(name: string) {
  // It ends with 1 while a component is unhealthy.
  const { stdout, stderr } = await platform.svc(['platform', 'status', '-o', 'json']);
  if (stdout === '') throw new Error(stderr);
  const { components } = JSON.parse(stdout) as PlatformStatus;
  return components.find((each) => each.name === name);
}

interface Sample {
  metric: Record<string, string>;
  value: [number, string];
}

/** The answer of the metrics store, through the API server. */
async function query(expr: string): Promise<Sample[]> {
  const path = '/api/v1/namespaces/monitoring/services/prometheus:9090/proxy/api/v1/query';
  const { code, stdout, stderr } = await platform.kubectl('get', '--raw', `${path}?query=${encodeURIComponent(expr)}`);
  if (code !== 0) throw new Error(`${expr}: ${stderr}`);
  return (JSON.parse(stdout) as { data: { result: Sample[] } }).data.result;
}

interface Metrics {
  figures: Record<string, (number | null)[]>;
}

interface Pods {
  items: { spec: { containers: { resources: { limits: { memory: string } } }[] }; status: { phase: string } }[];
}

const podsOf = (name: string) => get<Pods>('pods', '-l', `app=${name}`);

t.test('an admin enables the metrics store, and it collects the metrics of every process', async (t) => {
  t.match(await component(store), { status: 'disabled' });
  await platform.ok(['platform', 'enable', store, '--timeout', '4m']);
  t.match(await component(store), { status: 'on', memory: String });
  for (const name of ['node-exporter', 'alertmanager']) {
    await eventually(
      () => component(name),
      (state) => state?.status === 'on',
    );
  }
  const processes = ['console-api', 'svc-workers', 'svc-controllers', 'svc-authz', 'svc-interceptor'];
  const expected = [...processes, store, 'node-exporter', 'alertmanager'].sort();
  const up = () => query('min by (process) (up) == 1');
  const processesOf = (samples: Sample[]) => samples.map(({ metric }) => metric['process'] ?? '').toSorted();
  const samples = await eventually(up, (now) => expected.every((name) => processesOf(now).includes(name)));
  t.same(
    processesOf(samples).filter((name) => expected.some((process) => process === name)),
    expected,
  );
  t.same(await query('up == 0'), [], 'no target is down');
});

t.test('requests of an app are in its metrics and in top, as the ingress counts them', async (t) => {
  const { flags } = await testProject(t, platform);
  await platform.ok(['app', 'create', 'api', '--image', 'localhost:5000/svc/hello:v1', ...flags]);
  const { url } = await platform.json<{ url: string }>(['app', 'show', 'api', ...flags]);
  const highest = (values: readonly (number | null)[] = []) => Math.max(0, ...values.map((value) => value ?? 0));
  const { figures } = await eventually(
    async () => {
      await platform.request(url);
      return platform.json<Metrics>(['app', 'metrics', 'api', '--step', '15s', ...flags]);
    },
    (metrics) => highest(metrics.figures['requestsPerSecond']) > 0,
  );
  t.ok(highest(figures['latencyP95Seconds']) > 0);
  t.equal(highest(figures['errorsPerSecond']), 0);
  t.equal(highest(figures['readyReplicas']), 1);
  const top = await eventually(
    () => platform.json<{ kind: string; name: string; requestsPerSecond: number | null }[]>(['top', ...flags]),
    ([item]) => (item?.requestsPerSecond ?? 0) > 0,
  );
  t.match(top, [{ kind: 'app', name: 'api' }]);
  t.match(await component('ingress-metrics'), { status: 'on' });
  // This cluster has no metrics-server.
  t.match(await component('metrics-api'), { status: 'disabled', message: /install metrics-server/ });
  const { stderr } = await platform.svc(['app', 'metrics', 'api', ...flags]);
  t.match(stderr, 'CPU and memory are not collected');
  t.notMatch(stderr, 'Requests and latency');
});

t.test('the dashboards’ queries run on the real series, and all show data but those of workloads', async (t) => {
  // Requests that no test has made, workloads that no test has now, and statistics that not every kernel has.
  const optional = /webhook_requests|function_|svc_workload_|node_pressure|node_disk/;
  for (const { panels } of dashboardDefinitions) {
    for (const { expr } of panels.flatMap(({ queries }) => queries)) {
      const needsData = !optional.test(expr);
      // A rate needs two scrapes.
      const samples = await eventually(
        () => query(expr),
        ({ length }) => length > 0 || !needsData,
      );
      t.ok(samples.length > 0 || !needsData, expr);
    }
  }
});

t.test(
  'the API server accepts all objects of every component, also those of Grafana, which has no image here',
  async (t) => {
    const components = monitoringComponents({ ingressMetrics: 'traefik.kube-system.svc:9100' });
    for (const name of componentNames) {
      const items = components[name]?.objects({
        image: componentImage(name, {}) ?? 'localhost/platform',
        memory: '128Mi',
      });
      const apply = ['apply', '--server-side', '--force-conflicts', '--field-manager=test', '--dry-run=server'];
      const { code, stderr } = await platform.kubectlInput(
        JSON.stringify({ apiVersion: 'v1', kind: 'List', items }),
        ...[...apply, '--validate=strict', '--filename=-'],
      );
      // It also warns of pods that the namespace's pod security standard refuses.
      t.same({ name, code, stderr }, { name, code: 0, stderr: '' });
    }
  },
);

t.test('a new memory limit replaces the pod, and its data stays', async (t) => {
  const oldest = () => query('min_over_time(timestamp(up{process="console-api"})[1h:15s])');
  const [before] = await oldest();
  await platform.ok(['platform', 'resize', store, '--memory', '320Mi', '--timeout', '4m']);
  t.match(await component(store), { status: 'on', memory: '320Mi' });
  const { items } = await podsOf(store);
  t.same(
    items.map(({ spec }) => spec.containers[0]?.resources.limits.memory),
    ['320Mi'],
  );
  const [after] = await oldest();
  t.ok(before && after && Number(after.value[1]) <= Number(before.value[1]) + 60, 'what was collected before is there');
});

t.test('a store that is killed for memory gets twice as much, unless its limit was set by hand', async (t) => {
  /** Uses all the memory of the container, and ends it in case the kernel killed only this program. */
  const exhaust = () =>
    platform.kubectl('-n', 'monitoring', 'exec', 'prometheus-0', '--', 'sh', '-c', 'tail /dev/zero; kill 1');
  await exhaust();
  const state = () => component(store);
  t.match(await eventually(state, (now) => now?.notRaised !== undefined), {
    notRaised: 'ManualLimit',
    memory: '320Mi',
  });
  await platform.ok(['platform', 'resize', store, '--memory', 'default', '--timeout', '4m']);
  const before = await component(store);
  t.match(before, { status: 'on', notRaised: undefined });
  await exhaust();
  const raised = await eventually(state, (now) => now?.memory !== before?.memory);
  t.match(raised, { memory: '1Gi', raised: { from: '512Mi', to: '1Gi', reason: /^killed for memory at / } });
  await eventually(state, (now) => now?.status === 'on');
  const { items } = await podsOf(store);
  t.same(
    items.map(({ spec }) => spec.containers[0]?.resources.limits.memory),
    ['1Gi'],
  );
});

const claims = () => get<{ items: object[] }>('persistentvolumeclaims', '-l', `app=${store}`);

t.test('disabling removes the pods and keeps the data; with --delete-data it is gone', async (t) => {
  // After each change of the settings, also by another test, it counts as stopping until the controllers have looked.
  const disabled = () =>
    eventually(
      () => component(store),
      (state) => state?.status === 'disabled',
    );
  await platform.ok(['platform', 'disable', store, '--timeout', '4m']);
  t.match(await disabled(), { status: 'disabled', message: 'its data is kept' });
  await eventually(
    () => component('node-exporter'),
    (state) => state?.status === 'disabled',
  );
  t.same((await podsOf(store)).items, []);
  t.same(
    (await get<{ items: object[] }>('statefulsets,daemonsets,services,configmaps', '-l', `app=${store}`)).items,
    [],
  );
  t.same((await claims()).items.length, 1);
  await platform.ok(['platform', 'disable', store, '--delete-data', '--yes', '--timeout', '4m']);
  t.same((await claims()).items, []);
  t.match(await disabled(), { status: 'disabled', message: undefined });
});
