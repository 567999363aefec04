import t from 'tap';
import { createPlatformRoutes } from '../../../functions/platform/handler.ts';
import { localStoresController, type LocalStore } from '../../../infra/local/stores.ts';
import type { PlatformState } from '../../../runtime/contracts/platform-state.ts';
import { kinds } from '../../../runtime/contracts/resources/kinds.ts';
import type { MonitoringSettings } from '../../../runtime/contracts/resources/monitoring.ts';
import type { PlatformConfig } from '../../../runtime/contracts/resources/platform-config.ts';
import { managedByLabel, managedByValue } from '../../../runtime/domain/labels.ts';
import { createEventRecorder } from '../../../runtime/kube/events.ts';
import { platformConfigController } from '../../../workers/controllers/platform-config.ts';
import { testApi } from '../../support/api.ts';
import { fakeClock } from '../../support/clock.ts';
import { fakeKube } from '../../support/fake-kube.ts';
import { recordingLog, silentLog } from '../../support/log.ts';
import { settleComponents } from '../../support/monitoring.ts';
import { platformConfigObject, settings } from '../../support/objects.ts';

/** The API, and the controllers that carry out what it stores. */
async function setUp(
  test: Parameters<typeof testApi>[0],
  monitoring?: MonitoringSettings,
  nodes: PlatformState['nodes'] = [],
) {
  const kube = fakeKube();
  const recorded = recordingLog();
  const routes = createPlatformRoutes({ version: '1.2.3', kube, components: {}, nodes: () => Promise.resolve(nodes) });
  const api = await testApi(test, { routes, log: recorded.log });
  const clock = fakeClock();
  const { definition } = platformConfigController({
    kube,
    clock,
    events: createEventRecorder({ kube, component: 'svc-controllers', clock, log: silentLog }),
    onChange: () => undefined,
  });
  kube.seed({ ...platformConfigObject, spec: { ...settings, ...(monitoring && { monitoring }) } });
  const stored = () => kube.all<PlatformConfig>(kinds.PlatformConfig)[0];
  const control = async () => {
    const signal = new AbortController().signal;
    await definition.reconcile({ name: 'platform', object: stored(), signal, log: silentLog });
  };
  await control();
  return {
    kube,
    control,
    stored: () => stored()?.spec.monitoring?.components,
    entries: () => recorded.entries.filter(({ msg }) => msg === 'audit'),
    change: (name: string, body: object) => api.call('PATCH', `/api/v1/platform/components/${name}`, { body }),
    component: async (name: string) => {
      const { body } = await api.call('GET', '/api/v1/platform/status');
      return (body as { components: { name: string }[] }).components.find((component) => component.name === name);
    },
  };
}

t.test('an admin disables and enables a component; the status follows what the controllers do', async (t) => {
  const { kube, control, stored, entries, change, component } = await setUp(t, { mode: 'cluster' });
  t.same(await component('metrics-store'), { name: 'metrics-store', status: 'starting', memory: '512Mi' });
  await settleComponents(kube);
  await control();
  t.match(await component('metrics-store'), { status: 'on' });

  t.match(await change('metrics-store', { enabled: false }), { status: 200, body: { status: 'stopping' } });
  t.same(stored(), { 'metrics-store': { enabled: false } });
  t.match(await component('metrics-store'), { status: 'stopping' });
  t.match(await component('dashboards'), { status: 'stopping' }, 'follows its store');
  await control();
  t.same(await component('metrics-store'), { name: 'metrics-store', status: 'disabled', memory: '512Mi' });

  await change('metrics-store', { enabled: false, deleteData: true });
  t.same(stored(), { 'metrics-store': { enabled: false, deleteData: true } });
  t.match(await component('metrics-store'), { status: 'stopping' }, 'until the controllers have deleted it');
  t.match(await change('metrics-store', { enabled: true }), { status: 200, body: { status: 'starting' } });
  t.same(stored(), { 'metrics-store': { enabled: true } }, 'its data is not to be deleted any longer');
  t.match(entries()[0], { actor: 'admin@svc.local', component: 'metrics-store', change: { enabled: false } });
});

t.test(
  'accepted settings are not applied yet: the component is not on before the controllers have changed it',
  async (t) => {
    const { kube, control, change, component } = await setUp(t, { mode: 'cluster' });
    await settleComponents(kube);
    await control();
    t.match(await component('metrics-store'), { status: 'on' });
    await change('metrics-store', { memory: '640Mi' });
    // The controllers accept the settings first, and are cut off before they change the component.
    kube.intercept = async ({ verb, kind }) => {
      if (verb === 'list' && kind === 'Pod') throw new Error('cut off');
    };
    await t.rejects(control(), { message: 'cut off' });
    t.match(await component('metrics-store'), { status: 'starting', memory: '512Mi' });
    kube.intercept = undefined;
    await control();
    t.match(await component('metrics-store'), { memory: '640Mi' });
  },
);

t.test('a memory limit is set and reset, and nothing else changes', async (t) => {
  const { control, stored, change, component } = await setUp(t, {
    mode: 'cluster',
    components: { dashboards: { enabled: false } },
  });
  t.match(await change('metrics-store', { memory: '640Mi' }), { status: 200 });
  await control();
  t.match(await component('metrics-store'), { memory: '640Mi' });
  t.same(stored(), { dashboards: { enabled: false }, 'metrics-store': { memory: '640Mi' } });
  t.match(await change('metrics-store', { memory: null }), { status: 200 });
  await control();
  t.match(await component('metrics-store'), { memory: '512Mi' });
  const before = stored();
  t.match(await change('metrics-store', { memory: 'much' }), {
    status: 422,
    body: { code: 'invalid_value', message: /at least 32Mi/ },
  });
  for (const body of [{}, { deleteData: true }, { enabled: true, deleteData: true }, { image: 'x' }, { enabled: 1 }]) {
    t.match(await change('metrics-store', body), { status: 400, body: { code: 'invalid_request' } });
  }
  t.match(await change('no-such', { enabled: true }), { status: 400 });
  t.same(stored(), before);
});

t.test(
  'a component that stays disabled keeps its message while the controllers apply a change of another',
  async (t) => {
    const { kube, control, change, component } = await setUp(t, { mode: 'cluster' });
    await settleComponents(kube);
    await control();
    await change('metrics-store', { enabled: false });
    kube.seed({
      ...kinds.PersistentVolumeClaim,
      metadata: { name: 'data-prometheus-0', namespace: 'monitoring', labels: { [managedByLabel]: managedByValue } },
    });
    await control();
    const disabled = { status: 'disabled', message: 'its data is kept' };
    t.match(await component('metrics-store'), disabled);
    t.match(await change('alertmanager', { memory: '64Mi' }), { status: 200 });
    t.match(await component('metrics-store'), disabled);
  },
);

t.test('a limit of a disabled component is shown at once, because nothing has another one', async (t) => {
  const { control, change, component } = await setUp(t, {
    mode: 'cluster',
    components: { 'metrics-store': { enabled: false } },
  });
  t.match(await change('metrics-store', { memory: '640Mi' }), { body: { status: 'disabled', memory: '640Mi' } });
  await control();
  t.match(await component('metrics-store'), { status: 'disabled', memory: '640Mi' });
});

t.test('a component that the installation cannot run is refused with its own code', async (t) => {
  const without = await setUp(t);
  t.match(await without.change('metrics-store', { enabled: true }), {
    status: 409,
    body: { code: 'component_not_installed', message: /run `svc install` again/ },
  });
});

t.test('the stores of the embedded cluster are switched by its process, and have no memory limit', async (t) => {
  const embedded = await setUp(t, { mode: 'embedded' });
  const data = new Set<string>();
  const store = (name: string): LocalStore => ({
    enable: async () => void data.add(name),
    disable: async () => undefined,
    hasData: () => data.has(name),
    deleteData: async () => void data.delete(name),
  });
  const stores = { 'metrics-store': store('metrics-store'), 'log-store': store('log-store') };
  const controller = localStoresController({ kube: embedded.kube, stores, log: silentLog });
  const follow = async () => {
    const [object] = embedded.kube.all<PlatformConfig>(kinds.PlatformConfig);
    await controller.reconcile({ name: 'platform', object, signal: new AbortController().signal, log: silentLog });
  };
  await follow();
  t.same(await embedded.component('log-store'), { name: 'log-store', status: 'on' });
  t.equal(await embedded.component('dashboards'), undefined);

  t.match(await embedded.change('log-store', { enabled: false }), { status: 200, body: { status: 'stopping' } });
  await follow();
  t.match(await embedded.component('log-store'), { status: 'stopping' }, 'the settings are not accepted yet');
  await embedded.control();
  t.match(await embedded.component('log-store'), { status: 'stopping' }, 'the process has not followed yet');
  await follow();
  t.same(await embedded.component('log-store'), { name: 'log-store', status: 'disabled', message: 'its data is kept' });
  t.match(await embedded.component('metrics-store'), { status: 'on' });

  await embedded.change('log-store', { enabled: false, deleteData: true });
  await embedded.control();
  await follow();
  t.same(await embedded.component('log-store'), { name: 'log-store', status: 'disabled' });
  await embedded.change('log-store', { enabled: true });
  await embedded.control();
  await follow();
  t.match(await embedded.component('log-store'), { status: 'on' });

  t.match(await embedded.change('dashboards', { enabled: true }), {
    status: 409,
    body: { code: 'component_not_installed', message: /there are metrics-store and log-store only/ },
  });
  t.match(await embedded.change('metrics-store', { memory: '1Gi' }), {
    status: 422,
    body: { code: 'invalid_value', message: /no memory limit/ },
  });
});

t.test('the memory of a component is limited to what the largest node has for pods', async (t) => {
  const node = (name: string, memoryBytes?: number) => ({
    name,
    ready: true,
    addresses: [],
    ...(memoryBytes !== undefined && { memoryBytes }),
  });
  const nodes = [node('n1', 4 * 2 ** 30), node('n2', 7.5 * 2 ** 30 + 1), node('n3')];
  const { change, stored } = await setUp(t, { mode: 'cluster' }, nodes);
  const { status, body } = await change('metrics-store', { memory: '3Ti' });
  t.equal(status, 422);
  t.match(body, {
    code: 'invalid_value',
    message:
      'No node of the cluster has 3Ti of memory. Set at most 7680Mi, which is what pods can have on the largest node.',
    details: { field: 'memory' },
  });
  t.notOk(stored());
  t.match(await change('metrics-store', { memory: '7680Mi' }), { status: 200 });
  const unknown = await setUp(t, { mode: 'cluster' }, [node('n3')]);
  t.match(await unknown.change('metrics-store', { memory: '3Ti' }), { status: 200 }, 'the nodes are not known');
});
