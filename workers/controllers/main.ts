import type { Pod } from '../../runtime/contracts/pod.ts';
import type { FunctionEvents, FunctionResource } from '../../runtime/contracts/resources/function.ts';
import { kinds } from '../../runtime/contracts/resources/kinds.ts';
import { waitForSchema } from '../../runtime/db/migrate.ts';
import { createPool, transaction } from '../../runtime/db/pool.ts';
import { systemClock } from '../../runtime/domain/clock.ts';
import { hasEnded } from '../../runtime/domain/deployment.ts';
import { appLabel, systemNamespace } from '../../runtime/domain/labels.ts';
import { createAdminServer } from '../../runtime/process/admin-server.ts';
import { loadControllersConfig } from '../../runtime/process/config.ts';
import { runProcess } from '../../runtime/process/lifecycle.ts';
import { createLogger } from '../../runtime/process/log.ts';
import { createMetrics } from '../../runtime/process/metrics.ts';
import { connectKube } from '../../runtime/kube/connect.ts';
import { managedSelection, type Controller } from '../../runtime/kube/controller.ts';
import { createEventRecorder } from '../../runtime/kube/events.ts';
import { createManager } from '../../runtime/kube/manager.ts';
import { writeControllerReport } from '../../runtime/records/controller-reports.ts';
import { neededEnvironments } from '../../runtime/records/automatic-rollback.ts';
import { acceptDeployment } from '../../runtime/records/acceptance.ts';
import { closeEnvironmentRecords, deleteEnvironmentRecords } from '../../runtime/records/environments.ts';
import {
  deleteServiceDatabaseRecords,
  hasBoundUsers,
  projectBindings,
  type DesiredBinding,
} from '../../runtime/records/function-bindings.ts';
import { listEventLoads } from '../../runtime/records/event-backlog.ts';
import { findEventSource, projectEventSource } from '../../runtime/records/function-events.ts';
import { projectGitSource } from '../../runtime/records/git-sources.ts';
import { deleteProjectMembers } from '../../runtime/records/members.ts';
import { deleteProjectNotifications } from '../../runtime/records/notifications.ts';
import { markWorkloadDeleted, projectWorkload } from '../../runtime/records/workloads.ts';
import { fetchReport } from '../scaler/reports.ts';
import { createScaler, type ScaledDeployment } from '../scaler/scaler.ts';
import { appController } from './app.ts';
import { buildController } from './build.ts';
import { functionController } from './function.ts';
import { probeGate } from './gate-probe.ts';
import { jobController } from './job.ts';
import { platformConfigController } from './platform-config.ts';
import { podOomController } from './pod-oom.ts';
import { projectController } from './project.ts';
import { createReporter } from './reporter.ts';
import { serviceController } from './service.ts';
import { volumeController } from './volume.ts';

const name = 'svc-controllers';
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
      // The kubelet restarts the process, which then waits for the lease.
      onLost: () => lifecycle.end(),
    });
    const kube = { ...connection, cache: manager.informers.cache };
    const events = createEventRecorder({ kube, component: name, clock, log });
    const workloadRecords = {
      project: (workload: Parameters<typeof projectWorkload>[1]) => projectWorkload(pool, workload),
      markDeleted: (id: string) => markWorkloadDeleted(pool, id),
    };
    const serviceRecords = { forgetDatabases: (id: string) => deleteServiceDatabaseRecords(pool, id) };
    const functionRecords = {
      ...workloadRecords,
      projectBindings: (id: string, bindings: readonly DesiredBinding[]) => projectBindings(pool, id, bindings),
      async projectEvents(id: string, settings: FunctionEvents | undefined) {
        await projectEventSource(pool, id, settings);
        return settings && ((await findEventSource(pool, id))?.error ?? undefined);
      },
    };

    const dependent: Controller[] = [];
    const settings = platformConfigController({
      kube,
      events,
      clock,
      onChange: () => {
        for (const controller of dependent) controller.enqueueAll();
      },
    });
    const platformConfig = () => settings.current();
    manager.add(settings.definition);
    const projectRecords = {
      hasBoundUsers: (namespace: string, services: readonly string[]) => hasBoundUsers(pool, namespace, services),
      closeEnvironment: (id: string) => closeEnvironmentRecords(pool, id),
      deleteEnvironment: (id: string) => deleteEnvironmentRecords(pool, id),
      deleteProject: async (id: string) => {
        await deleteProjectNotifications(pool, id);
        await deleteProjectMembers(pool, id);
      },
    };
    dependent.push(manager.add(projectController({ kube, platformConfig, records: projectRecords, events, clock })));
    const records = {
      ...workloadRecords,
      neededEnvironments: (workloadId: string) => neededEnvironments(pool, workloadId),
      async deployEdited(workloadId: string, image: string, dedupKey: string) {
        const edit = { workloadId, trigger: 'manual', image, actor: 'kubectl', dedupKey } as const;
        const { state } = await transaction(pool, (client) => acceptDeployment(client, edit));
        return !hasEnded(state);
      },
      projectGit: (id: string, source: Parameters<typeof projectGitSource>[2]) => projectGitSource(pool, id, source),
      async deployFirst(workloadId: string, image: string, actor: string | undefined) {
        const first = { workloadId, trigger: 'manual', image, actor, dedupKey: 'initial', onlyFirst: true } as const;
        await transaction(pool, (client) => acceptDeployment(client, first));
      },
    };
    const functions = manager.add(
      functionController({ kube, platformConfig, records: functionRecords, events, probeGate, clock }),
    );
    dependent.push(manager.add(appController({ kube, platformConfig, records, events, probeGate, clock })), functions);

    manager.add(jobController({ kube, records: workloadRecords, events, clock }));
    manager.add(volumeController({ kube, events, clock }));
    dependent.push(manager.add(buildController({ kube, platformConfig, events, clock })));
    dependent.push(manager.add(serviceController({ kube, platformConfig, records: serviceRecords, events, clock })));
    manager.add(podOomController({ kube, events }));

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
    manager.addLeaderPart({ name: 'scaler', start: () => scaler.start(), stop: () => scaler.stop() });

    manager.start();
    lifecycle.add({ name: 'controllers', stop: () => manager.stop() });
    const reporter = createReporter({ manager, write: (report) => writeControllerReport(pool, report), clock, log });
    reporter.start();
    lifecycle.add({ name: 'reporter', stop: () => reporter.stop() });

    const admin = createAdminServer({
      port: config.admin.port,
      registry,
      ready: () => lifecycle.running() && informers.synced(),
      pages: { '/health/controllers': () => manager.report() },
    });
    await admin.start();
    lifecycle.add({ name: 'admin server', stop: () => admin.stop() });
  },
});
