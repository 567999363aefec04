import type { KubeObject, Stored } from '../../../runtime/contracts/kubernetes.ts';
import type { App } from '../../../runtime/contracts/resources/app.ts';
import { kinds } from '../../../runtime/contracts/resources/kinds.ts';
import type { PlatformConfigSpec } from '../../../runtime/contracts/resources/platform-config.ts';
import { transaction } from '../../../runtime/db/pool.ts';
import { hasEnded } from '../../../runtime/domain/deployment.ts';
import { newId } from '../../../runtime/domain/ids.ts';
import { environmentIdLabel, environmentLabel, managedLabels, projectLabel } from '../../../runtime/domain/labels.ts';
import { createEventRecorder } from '../../../runtime/kube/events.ts';
import { neededEnvironments } from '../../../runtime/records/automatic-rollback.ts';
import { createControllerRecords } from '../../../workers/controllers/records.ts';
import { projectBindings } from '../../../runtime/records/bindings.ts';
import { acceptDeployment } from '../../../runtime/records/acceptance.ts';
import { markWorkloadDeleted, projectWorkload } from '../../../runtime/records/workloads.ts';
import { appController } from '../../../workers/controllers/app.ts';
import type { GateAnswer, GateQuestion } from '../../../workers/controllers/gate-probe.ts';
import { fakeClock } from '../../support/clock.ts';
import { fakeKube } from '../../support/fake-kube.ts';
import { silentLog } from '../../support/log.ts';
import { environmentId } from '../../support/objects.ts';
import { testDatabase } from '../../support/postgres.ts';

/** The environment of the app. */
export const namespace = 'shop-prod';
/** Its labels. */
export const place = { [projectLabel]: 'shop', [environmentLabel]: 'prod', [environmentIdLabel]: environmentId };
/** The installation. */
export const settings: PlatformConfigSpec = {
  appsDomain: 'apps.test',
  cluster: 'c1',
  scheme: 'http',
  publicPort: 18080,
  entryPoints: ['web'],
  ingressAddress: 'http://traefik.test:80',
  runtimeImages: { node: 'registry.test/node:1' },
  hostDomains: [{ domain: 'example.com' }],
};

interface Teardown {
  teardown(end: () => unknown): void;
}

/** The controller over objects in memory and real records; a test starts each pass. */
export async function setUp(t: Teardown) {
  const { pool } = await testDatabase(t);
  const kube = fakeKube();
  const clock = fakeClock();
  const order: string[] = [];
  const world = {
    kube,
    clock,
    pool,
    order,
    settings: settings as PlatformConfigSpec | undefined,
    projectionFails: false,
    /** The ingress's answer to a request without a key (default: Traefik's answer with the current route). */
    answer: undefined as GateAnswer | undefined,
    asked: [] as GateQuestion[],
  };
  kube.seed({
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name: namespace, labels: { ...managedLabels(), ...place } },
  });
  kube.intercept = ({ verb, kind, name }) => {
    if (['create', 'replace', 'delete'].includes(verb)) order.push(`${verb} ${kind} ${withoutId(name ?? '')}`);
  };
  const controller = appController({
    kube,
    clock,
    platformConfig: () => world.settings,
    events: createEventRecorder({ kube, component: 'svc-controllers', clock, log: silentLog }),
    async probeGate(question) {
      world.asked.push(question);
      if (world.answer) return world.answer;
      const route = JSON.stringify(kube.all(kinds.IngressRoute)[0]?.spec ?? '');
      return route.includes('"gate-') ? { kind: 'refused' } : { kind: 'open', status: 404 };
    },
    records: {
      async project(workload) {
        if (world.projectionFails) throw new Error('the database is away');
        order.push(`project gated=${workload.gated}`);
        await projectWorkload(pool, workload);
      },
      projectBindings: (id, bindings) => projectBindings(pool, id, bindings),
      projectGit: () => Promise.resolve(),
      deployFirst: (...args) => createControllerRecords(pool).apps.deployFirst(...args),
      async deployEdited(workloadId, image, dedupKey) {
        const edit = { workloadId, trigger: 'manual' as const, image, actor: 'kubectl', dedupKey };
        const { state } = await transaction(pool, (client) => acceptDeployment(client, edit));
        return !hasEnded(state);
      },
      neededEnvironments: (id) => neededEnvironments(pool, id),
      markDeleted: (id) => markWorkloadDeleted(pool, id),
    },
  });

  const read = async (name = 'api') => kube.get<App>(kinds.App, name, namespace);
  const app = async (name = 'api') => {
    const object = await read(name);
    if (!object) throw new Error(`no app ${name}`);
    return object;
  };
  const pass = async (name = 'api') => {
    const request = { namespace, name, object: await read(name), signal: new AbortController().signal, log: silentLog };
    const outcome = await controller.reconcile(request);
    return { outcome, app: await read(name) };
  };
  const create = (name = 'api', spec: Partial<App['spec']> = {}) =>
    kube.create<App>({
      apiVersion: 'platform.svc/v1',
      kind: 'App',
      metadata: { name, namespace },
      spec: { image: `registry.test/${name}:1`, port: 8080, replicas: 1, ...spec },
    });
  const change = async (spec: object, name = 'api') =>
    kube.mergePatch<App>({ apiVersion: 'platform.svc/v1', kind: 'App', namespace, name }, { spec });
  /** Does what the rollout step does. */
  const release = async (generation: number, image = `registry.test/api:${generation}`) => {
    const deploymentId = newId();
    await change({ release: { generation, deploymentId, image } });
    return deploymentId;
  };
  /** Reports what the cluster's Deployment controller would report. */
  const observe = async (status: object, name = 'api') => {
    const live = await kube.get<KubeObject>(kinds.Deployment, name, namespace);
    if (!live) throw new Error('no deployment');
    await kube.replaceStatus({ ...live, status: { observedGeneration: live.metadata.generation, ...status } });
  };
  const ready = { replicas: 1, updatedReplicas: 1, readyReplicas: 1, availableReplicas: 1 };
  return { ...world, world, controller, read, app, pass, create, change, release, observe, ready };
}

/** A name with `<id>` for the id of a workload. */
export const withoutId = (name: string) => name.replace(/-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/, '-<id>');

/** The names of these objects in order, with `<id>` for the id of a workload. */
export const namesOf = (objects: Stored<KubeObject>[]) =>
  objects.map(({ metadata }) => withoutId(metadata.name)).sort();
