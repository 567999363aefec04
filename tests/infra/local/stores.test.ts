import t from 'tap';
import { createLocalStores, localStoresController, type LocalStore } from '../../../infra/local/stores.ts';
import type { PlatformConfig } from '../../../runtime/contracts/resources/platform-config.ts';
import { kinds } from '../../../runtime/contracts/resources/kinds.ts';
import { fakeClock } from '../../support/clock.ts';
import { fakeKube } from '../../support/fake-kube.ts';
import { silentLog } from '../../support/log.ts';
import { platformConfigObject, settings } from '../../support/objects.ts';

/** Stores that remember whether they are enabled. */
function fakeStores() {
  const enabled = new Set<string>();
  const state = { failure: undefined as Error | undefined };
  const store = (name: string): LocalStore => ({
    async enable() {
      if (state.failure) throw state.failure;
      enabled.add(name);
    },
    disable: async () => void enabled.delete(name),
    hasData: () => false,
    deleteData: async () => undefined,
  });
  return { enabled, state, stores: { 'metrics-store': store('metrics-store'), 'log-store': store('log-store') } };
}

/** The settings as svc-controllers have accepted them. */
function accepted(monitoring: object) {
  const spec = { ...settings, monitoring: { mode: 'embedded', ...monitoring } };
  const generation = 3;
  return {
    ...platformConfigObject,
    metadata: { name: 'platform', generation },
    spec,
    status: { observedGeneration: generation, accepted: { generation, spec } },
  };
}

t.test('the stores start as the settings say, and all of them before there are settings', async (t) => {
  for (const [config, expected] of [
    [undefined, ['metrics-store', 'log-store']],
    [accepted({ components: { 'log-store': { enabled: false } } }), ['metrics-store']],
  ] as const) {
    const { enabled, stores } = fakeStores();
    const kube = fakeKube();
    if (config) kube.seed(config);
    const local = createLocalStores({ kube, stores, clock: fakeClock(), log: silentLog });
    await local.start();
    t.same([...enabled], expected);
    await local.stop();
    t.same([...enabled], [], 'stopped');
  }
});

t.test('a store that does not start is unhealthy, the other one runs, and it is tried again', async (t) => {
  const { enabled, state, stores } = fakeStores();
  const kube = fakeKube();
  kube.seed(accepted({}));
  state.failure = new Error('/home/user/svc/logs: no space left');
  const broken = { ...stores, 'metrics-store': fakeStores().stores['metrics-store'] };
  const controller = localStoresController({ kube, stores: broken, log: silentLog });
  const status = () => kube.all<PlatformConfig>(kinds.PlatformConfig)[0]?.status;
  const pass = () => {
    const [object] = kube.all<PlatformConfig>(kinds.PlatformConfig);
    return controller.reconcile({ name: 'platform', object, signal: new AbortController().signal, log: silentLog });
  };
  t.match(await pass(), { requeueAfterMs: Number });
  t.match(status()?.monitoring, [
    { name: 'metrics-store', phase: 'on' },
    { name: 'log-store', enabled: true, ready: false, phase: 'unhealthy', message: /cannot be opened/ },
  ]);
  t.notMatch(JSON.stringify(status()), /no space|\/home/, 'paths of the machine are in its log only');
  state.failure = undefined;
  t.equal(await pass(), undefined);
  t.match(status(), { monitoringGeneration: 3, monitoring: [{}, { name: 'log-store', phase: 'on' }] });
  t.same([...enabled], ['log-store']);
});
