import { readFile } from 'node:fs/promises';
import type { FunctionDeployment } from '../../infra/manifests/function.ts';
import { checkerService } from '../../runtime/contracts/gate-denials.ts';
import type { KubeObject } from '../../runtime/contracts/kubernetes.ts';
import type { Pod } from '../../runtime/contracts/pod.ts';
import type { FunctionResource } from '../../runtime/contracts/resources/function.ts';
import { kinds } from '../../runtime/contracts/resources/kinds.ts';
import { warmPodsOf, type PlatformConfigSpec } from '../../runtime/contracts/resources/platform-config.ts';
import { waitForSchema } from '../../runtime/db/migrate.ts';
import { createPool } from '../../runtime/db/pool.ts';
import { systemClock } from '../../runtime/domain/clock.ts';
import { createProbeSigner } from '../../runtime/domain/gate-probe.ts';
import { appLabel, kindLabel, projectLabel, systemNamespace } from '../../runtime/domain/labels.ts';
import { monitoringNamespace, shipperNamespace, targetsPath } from '../../runtime/domain/monitoring.ts';
import { createAdminServer } from '../../runtime/process/admin-server.ts';
import { loadControllersConfig } from '../../runtime/process/config.ts';
import { resolveTxt } from '../../runtime/process/dns.ts';
import { runProcess } from '../../runtime/process/lifecycle.ts';
import { createLogger } from '../../runtime/process/log.ts';
import { createMetrics } from '../../runtime/process/metrics.ts';
import { connectKube } from '../../runtime/kube/connect.ts';
import { managedSelection, type Controller } from '../../runtime/kube/controller.ts';
import { createEventRecorder, type EventRecorder } from '../../runtime/kube/events.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import { createManager, type Manager } from '../../runtime/kube/manager.ts';
import { writeControllerReport } from '../../runtime/records/controller-reports.ts';
import { listEventLoads } from '../../runtime/records/event-backlog.ts';
import { fetchReport } from '../scaler/reports.ts';
import { createScaler, type ScaledDeployment } from '../scaler/scaler.ts';
import { createWarmCall } from '../warm/call.ts';
import { createWarmPools, type Quota } from '../warm/pools.ts';
import { createWarmStarts } from '../warm/starts.ts';
import { appController } from './app.ts';
import { buildController } from './build.ts';
import { functionController } from './function.ts';
import { createGateProbe, type ProbeGate } from './gate-probe.ts';
import { createGateStandby, type KubeService } from './gate-standby.ts';
import { jobController } from './job.ts';
import { platformConfigController } from './platform-config.ts';
import type { ScheduledJob } from './missed-schedules.ts';
import { createNodeList } from './nodes.ts';
import { podOomController } from './pod-oom.ts';
import { projectController } from './project.ts';
import { createControllerRecords, type ControllerRecords } from './records.ts';
import { createReporter } from './reporter.ts';
import { scrapeTargets } from './scrape-targets.ts';
import { serviceController } from './service.ts';
import {
  exportState,
  processReplicas,
  type ObservedState,
  type PlatformDeployment,
  type PlatformStatefulSet,
} from './state-metrics.ts';
import { volumeController } from './volume.ts';
import { createCounts, type ScaledObject } from './workload-counts.ts';
import { exportWorkloads } from './workload-metrics.ts';
import { createUsagePoll } from './workload-usage.ts';

const name = 'svc-controllers';
/** Workloads with metrics: each has six series. */
const measuredMax = 5_000;
const config = loadControllersConfig(process.env);
const log = createLogger(name, config.log);
const clock = systemClock;

await runProcess({
  name,
  log,
  async start(lifecycle) {
    const registry = createMetrics();
    const pool = createPool({ ...config.database, name, log });
    lifecycle.add({ name: 'database', stop: () => pool.end() });
    await waitForSchema(pool, { clock, log, signal: lifecycle.signal });
    const connection = await connectKube(config.kubernetes, { registry });
    lifecycle.add({ name: 'kubernetes', stop: () => connection.close() });

    const manager = createManager({
      kube: connection,
      lease: { namespace: config.pod.namespace, name, identity: config.pod.name },
      clock,
      log,
      registry,
      endProcess: () => lifecycle.end(),
    });
    const kube = { ...connection, cache: manager.informers.cache };
    const events = createEventRecorder({ kube, component: name, clock, log });
    const records = createControllerRecords(pool);
    const { gateProbeKeyFile } = config;
    const probeKey = gateProbeKeyFile === undefined ? undefined : await readFile(gateProbeKeyFile, 'utf8');
    const probeGate = createGateProbe(probeKey === undefined ? undefined : createProbeSigner(probeKey, clock));
    const { functions, settings } = addControllers(manager, { kube, events, records, probeGate });

    const { informers } = manager;
    const scaler = createScaler({
      kube,
      functions: informers.of<FunctionResource>(kinds.Function),
      deployments: informers.of<ScaledDeployment>(kinds.Deployment, managedSelection),
      interceptors: informers.of<Pod>(kinds.Pod, {
        namespace: systemNamespace,
        labelSelector: `${appLabel}=svc-interceptor`,
      }),
      fetchReport,
      eventLoads: () => listEventLoads(pool),
      onSourceChange: ({ metadata }) => functions.enqueue(metadata),
      clock,
      log,
      registry,
    });
    const scraped = [systemNamespace, monitoringNamespace, shipperNamespace].map((namespace) =>
      informers.of<Pod>(kinds.Pod, { namespace, ...managedSelection }),
    );
    manager.addLeaderPart({ name: 'scaler', start: () => scaler.start(), stop: () => scaler.stop() });

    const warm = {
      kube,
      functions: informers.of<FunctionResource>(kinds.Function),
      deployments: informers.of<FunctionDeployment>(kinds.Deployment, managedSelection),
      pods: informers.of<Pod>(kinds.Pod, { labelSelector: kindLabel }),
      clock,
      log: log.child({ part: 'warm pool' }),
    };
    const warmPools = createWarmPools({
      ...warm,
      namespaces: informers.of<KubeObject>(kinds.Namespace, { labelSelector: projectLabel }),
      quotas: informers.of<Quota>(kinds.ResourceQuota, managedSelection),
      size: () => {
        const current = settings();
        return current && warmPodsOf(current);
      },
    });
    const onFailure = (namespace: string) => warmPools.recheck(namespace);
    const warmStarts = createWarmStarts({ ...warm, call: createWarmCall(), onFailure, registry });
    manager.addLeaderPart({ name: 'warm pools', start: () => warmPools.start(), stop: () => warmPools.stop() });
    manager.addLeaderPart({ name: 'warm starts', start: () => warmStarts.start(), stop: () => warmStarts.stop() });

    const ofCheckers = { namespace: systemNamespace, labelSelector: `${appLabel}=${checkerService}` };
    const standby = createGateStandby({
      kube,
      checkers: informers.of<Pod>(kinds.Pod, ofCheckers),
      services: informers.of<KubeService>(kinds.Service, ofCheckers),
      clock,
      log,
    });
    manager.addLeaderPart({ name: 'gate standby', start: () => standby.start(), stop: () => standby.stop() });
    const nodes = createNodeList({ kube, clock, log });
    nodes.start();
    lifecycle.add({ name: 'list of nodes', stop: () => nodes.stop() });
    const state: ObservedState = {
      pods: () => informers.of<Pod>(kinds.Pod, { labelSelector: kindLabel }).list(),
      cronJobs: () => informers.of<ScheduledJob>(kinds.CronJob, managedSelection).list(),
      deployments: () => informers.of<PlatformDeployment>(kinds.Deployment, managedSelection).listIn(systemNamespace),
      statefulSets: () => informers.of<PlatformStatefulSet>(kinds.StatefulSet, managedSelection).list(),
      nodes: () => nodes.current(),
    };
    exportState(registry, state, clock);
    const pods = informers.of<Pod>(kinds.Pod, { labelSelector: kindLabel });
    const scaled = [kinds.Deployment, kinds.StatefulSet].map((kind) =>
      informers.of<ScaledObject>(kind, managedSelection),
    );
    const counts = createCounts({ pods, scaled, clock, max: measuredMax });
    const usage = createUsagePoll({ kube: connection, pods, clock, log, max: measuredMax });
    exportWorkloads(registry, { counts, usage: () => usage.usage() });
    usage.start();
    lifecycle.add({ name: 'usage of workloads', stop: () => usage.stop() });

    manager.start();
    lifecycle.add({ name: 'controllers', stop: () => manager.stop() });
    const reporter = createReporter({
      manager,
      state: () => {
        const report = usage.state();
        return { processes: processReplicas(state), nodes: [...state.nodes()], ...(report && { usage: report }) };
      },
      write: (report) => writeControllerReport(pool, report),
      clock,
      log,
    });
    reporter.start();
    lifecycle.add({ name: 'reporter', stop: () => reporter.stop() });

    const admin = createAdminServer({
      port: config.admin.port,
      registry,
      ready: () => lifecycle.running() && informers.synced(),
      pages: {
        '/health/controllers': () => manager.report(),
        [targetsPath]: () => scrapeTargets(scraped.flatMap((pods) => pods.list())),
      },
    });
    await admin.start();
    lifecycle.add({ name: 'admin server', stop: () => admin.stop() });
  },
});

/** Adds every controller. @returns that of functions, and the active settings */
function addControllers(
  manager: Manager,
  {
    kube,
    events,
    records,
    probeGate,
  }: { kube: KubeClient; events: EventRecorder; records: ControllerRecords; probeGate: ProbeGate },
): { functions: Controller; settings: () => PlatformConfigSpec | undefined } {
  const dependent: Controller[] = [];
  const settings = platformConfigController({
    kube,
    events,
    clock,
    onChange: () => {
      for (const controller of dependent) controller.enqueueAll();
    },
  });
  const common = { kube, events, clock, resolveTxt, platformConfig: () => settings.current() };
  manager.add(settings.definition);
  const projects = manager.add(projectController({ ...common, records: records.projects }));
  const functions = manager.add(functionController({ ...common, records: records.functions, probeGate }));
  const apps = manager.add(appController({ ...common, records: records.apps, probeGate }));
  const jobs = manager.add(jobController({ ...common, records: records.jobs }));
  manager.add(volumeController(common));
  const builds = manager.add(buildController({ ...common, records: records.builds }));
  const services = manager.add(serviceController({ ...common, records: records.services }));
  manager.add(podOomController(common));
  dependent.push(projects, apps, functions, jobs, builds, services);
  return { functions, settings: () => settings.current() };
}
