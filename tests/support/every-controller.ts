import { Registry } from 'prom-client';
import type { PlatformConfigSpec } from '../../runtime/contracts/resources/platform-config.ts';
import { createEventRecorder } from '../../runtime/kube/events.ts';
import { createManager, type Manager } from '../../runtime/kube/manager.ts';
import { appController } from '../../workers/controllers/app.ts';
import { buildController } from '../../workers/controllers/build.ts';
import { functionController } from '../../workers/controllers/function.ts';
import { jobController } from '../../workers/controllers/job.ts';
import { platformConfigController } from '../../workers/controllers/platform-config.ts';
import { podOomController } from '../../workers/controllers/pod-oom.ts';
import { projectController } from '../../workers/controllers/project.ts';
import { serviceController } from '../../workers/controllers/service.ts';
import { volumeController } from '../../workers/controllers/volume.ts';
import { fakeClock, type FakeClock } from './clock.ts';
import { fakeKube, type FakeKube } from './fake-kube.ts';
import { silentLog } from './log.ts';
import { platformConfigObject } from './objects.ts';
import { fixedId } from './state-space.ts';

/**
 * Every controller, led by one process as in `main.ts`, with records that do nothing and an ingress that always demands
 * a key. The manager is not started.
 */
export function everyController({
  start,
  clock = fakeClock(start),
  kube = fakeKube({ checkNamespaces: true, now: () => clock.now() }),
}: {
  start?: Date;
  clock?: FakeClock;
  /** The cluster of an earlier process. */
  kube?: FakeKube;
} = {}): { clock: FakeClock; kube: FakeKube; manager: Manager } {
  const manager = createManager({
    kube,
    clock,
    log: silentLog,
    registry: new Registry(),
    endProcess: () => undefined,
    lease: { namespace: 'svc-system', name: 'svc-controllers', identity: 'a' },
  });
  const shared = {
    kube: { ...kube, cache: manager.informers.cache },
    clock,
    events: createEventRecorder({ kube, component: 'svc-controllers', clock, log: silentLog }),
  };
  const doNothing = async () => undefined;
  const probeGate = async () => ({ kind: 'refused' }) as const;
  const records = {
    project: doNothing,
    markDeleted: doNothing,
    deployFirst: doNothing,
    projectGit: doNothing,
    projectBindings: doNothing,
    projectEvents: doNothing,
    forgetDatabases: doNothing,
    deployEdited: async () => false,
    neededEnvironments: async () => [],
  };
  let dependent: { enqueueAll(): void }[] = [];
  const settings = platformConfigController({
    ...shared,
    onChange: () => dependent.forEach((controller) => controller.enqueueAll()),
  });
  const platformConfig = (): PlatformConfigSpec | undefined => settings.current();
  manager.add(settings.definition);
  const environmentRecords = {
    hasBoundUsers: () => Promise.resolve(false),
    closeEnvironment: doNothing,
    deleteEnvironment: doNothing,
    deleteProject: doNothing,
  };
  const noSources = { issueSourceToken: () => Promise.resolve(undefined) };
  dependent = [
    manager.add(projectController({ ...shared, platformConfig, records: environmentRecords })),
    manager.add(functionController({ ...shared, platformConfig, records, probeGate })),
    manager.add(appController({ ...shared, platformConfig, records, probeGate })),
    manager.add(jobController({ ...shared, platformConfig, records })),
  ];
  manager.add(volumeController(shared));
  manager.add(buildController({ ...shared, platformConfig: () => undefined, records: noSources }));
  manager.add(serviceController({ ...shared, platformConfig, records }));
  manager.add(podOomController(shared));
  return { clock, kube, manager };
}

/**
 * Every controller at work in a cluster with the project `shop`, whose environments are ready. They stop at the end of the
 * test.
 */
export async function runningControllers(
  t: { teardown(end: () => unknown): void },
  { environments = ['prod'] }: { environments?: readonly string[] } = {},
): Promise<ReturnType<typeof everyController>> {
  const world = everyController();
  const { clock, kube, manager } = world;
  kube.seed({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'svc-system' } }, platformConfigObject, {
    apiVersion: 'platform.svc/v1',
    kind: 'Project',
    metadata: { name: 'shop' },
    spec: { environments: environments.map((name, index) => ({ name, id: fixedId(index + 1) })) },
  });
  t.teardown(() => manager.stop());
  manager.start();
  await clock.advance(5_000);
  return world;
}
