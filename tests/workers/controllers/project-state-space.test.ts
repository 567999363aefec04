import t from 'tap';
import type { Project } from '../../../runtime/contracts/resources/project.ts';
import { kinds } from '../../../runtime/contracts/resources/kinds.ts';
import { projectController } from '../../../workers/controllers/project.ts';
import type { FakeKube } from '../../support/fake-kube.ts';
import { settings } from '../../support/objects.ts';
import { explore, fixedId, type Scenario } from '../../support/state-space.ts';

/** By environment: whether its keys are valid, and whether its history is kept. */
type Records = Map<string, { open: boolean; kept: boolean }>;

const place = { apiVersion: 'platform.svc/v1', kind: 'Project', name: 'shop' };
const environment = (name: string, number: number, more: object = {}) => ({ name, id: fixedId(number), ...more });
const change =
  (...environments: object[]) =>
  (kube: FakeKube) =>
    kube.mergePatch<Project>(place, { spec: { environments } });
const create =
  (id: number, ...environments: Project['spec']['environments']) =>
  (kube: FakeKube) =>
    kube.create<Project>({
      apiVersion: 'platform.svc/v1',
      kind: 'Project',
      metadata: { name: 'shop', labels: { 'platform.svc/id': fixedId(id) } },
      spec: { environments },
    });
const hold = { apiVersion: 'v1', kind: 'ConfigMap', name: 'held', namespace: 'shop-test' };

const scenario: Scenario<Records> = {
  begin: () => new Map(),
  controllers({ kube, clock, events, write }, records) {
    const set = (id: string, state: { open: boolean; kept: boolean }) => {
      const before = records.get(id);
      records.set(id, state);
      return before?.open !== state.open || before.kept !== state.kept;
    };
    return [
      projectController({
        kube,
        clock,
        events,
        platformConfig: () => settings,
        records: {
          hasBoundUsers: () => Promise.resolve(false),
          closeEnvironment: write('close', (id: string) =>
            set(id, { open: false, kept: records.get(id)?.kept ?? true }),
          ),
          deleteEnvironment: write('delete', (id: string) => set(id, { open: false, kept: false })),
          deleteProject: write('forget', (id: string) => set(id, { open: false, kept: false })),
        },
      }),
    ];
  },
  steps: [
    create(9, environment('prod', 1), environment('test', 2)),
    change(environment('prod', 1, { limits: { pods: 7 } }), environment('test', 2)),
    async (kube) => {
      // Its namespace takes time to be deleted.
      await kube.create({ ...hold, metadata: { ...hold, finalizers: ['example.test/hold'] } });
      await change(environment('prod', 1, { limits: { pods: 7 } }), environment('test', 2, { deleting: true }))(kube);
    },
    async (kube) => {
      const held = await kube.get(kinds.ConfigMap, hold.name, hold.namespace);
      if (held) await kube.replace({ ...held, metadata: { ...held.metadata, finalizers: [] } });
    },
    (kube) => kube.delete(place),
    create(10, environment('prod', 3)),
  ],
  outcome: (records) => Object.fromEntries(records),
  always(kube, records) {
    const names = new Set(
      kube.all(kinds.Namespace).map(({ metadata }) => metadata.labels?.['platform.svc/environment-id']),
    );
    for (const [id, { kept }] of records) {
      if (!kept && names.has(id)) throw new Error('the history of an environment went before its workloads');
    }
  },
};

await explore(t, 'Project', scenario);
