import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { createDispatcher } from '../runtime/bus/dispatcher.ts';
import { createJobQueue } from '../runtime/bus/job-queue.ts';
import { createBusMetrics } from '../runtime/bus/metrics.ts';
import { createRunner, type Processors } from '../runtime/bus/runner.ts';
import type { App } from '../runtime/contracts/resources/app.ts';
import type { Build } from '../runtime/contracts/resources/build.ts';
import { kinds } from '../runtime/contracts/resources/kinds.ts';
import { createListener } from '../runtime/db/listener.ts';
import { waitForSchema } from '../runtime/db/migrate.ts';
import { createPool } from '../runtime/db/pool.ts';
import { systemClock } from '../runtime/domain/clock.ts';
import type { Id } from '../runtime/domain/ids.ts';
import { buildNamespace } from '../runtime/domain/labels.ts';
import { parseKeyRing } from '../runtime/domain/sealed.ts';
import { createClientPool } from '../runtime/process/client-pool.ts';
import { createAdminServer } from '../runtime/process/admin-server.ts';
import { loadWorkersConfig } from '../runtime/process/config.ts';
import { createFailpoints } from '../runtime/process/failpoint.ts';
import { runProcess } from '../runtime/process/lifecycle.ts';
import { createLogger } from '../runtime/process/log.ts';
import { createMetrics } from '../runtime/process/metrics.ts';
import { createNameLookup } from '../runtime/process/name-lookup.ts';
import { connectKube } from '../runtime/kube/connect.ts';
import { createCompletionWatch } from '../runtime/kube/completion-watch.ts';
import { createInformer } from '../runtime/kube/informer.ts';
import { catalogue, type QueueName } from '../runtime/queues/catalogue.ts';
import { createFeedClient } from '../runtime/logs/feed-client.ts';
import { ensureRegularWork, expediteWork, nudgeRollouts } from '../runtime/records/work.ts';
import { createAlertStore } from '../runtime/services/alert-store.ts';
import { createAlertsProcessor } from './alerts/process.ts';
import { createBindingProcessor } from './bindings/process.ts';
import { createRemoteServers } from './bindings/remote-server.ts';
import { createLogSaver } from './builds/log.ts';
import { isBuildCompletion } from './builds/completion.ts';
import { createBuildProcessor } from './builds/process.ts';
import { watchEvents } from './events/metrics.ts';
import { createMinioSource } from './events/minio.ts';
import { createEventsProcessor } from './events/process.ts';
import { createRemoteListing, createRemoteSource } from './events/remote-source.ts';
import { watchPlatform } from './housekeeping/metrics.ts';
import { createHousekeepingProcessor } from './housekeeping/process.ts';
import { createImageProcessor } from './images/process.ts';
import { createLogDrainMetrics } from './log-drain/metrics.ts';
import { createLogDrainProcessor } from './log-drain/process.ts';
import { createNotificationProcessor } from './notifications/process.ts';
import { createPollingProcessor } from './polling/process.ts';
import { isReleaseCompletion } from './rollouts/completion.ts';
import { createRolloutProcessor } from './rollouts/process.ts';

const name = 'svc-workers';
/** Each takes 15 to 40 MB, and at most 192 MiB while it reads a hostile server. */
const readersMax = 4;
/** Apart from the readers, so that neither waits for the other. */
const bindersMax = 2;
const config = loadWorkersConfig(process.env);
const log = createLogger(name, config.log);

await runProcess({
  name,
  log,
  async start(lifecycle) {
    const clock = systemClock;
    const registry = createMetrics();
    let started = false;

    const admin = createAdminServer({ port: config.admin.port, registry, ready: () => started && lifecycle.running() });
    await admin.start();
    lifecycle.add({ name: 'admin server', stop: () => admin.stop() });

    const pool = createPool({ ...config.database, name, log });
    lifecycle.add({ name: 'database', stop: () => pool.end() });
    await waitForSchema(pool, { clock, log, signal: lifecycle.signal });

    await ensureRegularWork(pool);

    const kube = await connectKube(config.kubernetes);
    lifecycle.add({ name: 'kubernetes client', stop: () => kube.close() });

    const keyRing = parseKeyRing(await readFile(config.encryptionKeysFile, 'utf8'));
    const failpoint = createFailpoints(config.failpoints.dir);
    const program = fileURLToPath(import.meta.resolve('./clients/main.ts'));
    const readers = createClientPool({ program, max: readersMax, env: config.outgoing, log });
    lifecycle.add({ name: 'readers of event sources', stop: () => readers.stop() });
    const binders = createClientPool({ program, max: bindersMax, env: config.outgoing, log });
    lifecycle.add({ name: 'clients of bindings', stop: () => binders.stop() });
    const resolveNames = createNameLookup();
    const remoteSource = createRemoteSource(readers);
    const { url, tokenFile } = config.logStore;
    const token = () => readFile(tokenFile, 'utf8');
    const processors: Processors = {
      builds: createBuildProcessor({ pool, kube, saveLog: createLogSaver({ pool, kube }) }),
      rollouts: createRolloutProcessor({ pool, kube, failpoint }),
      notifications: createNotificationProcessor({ pool, kube, keyRing, clock, failpoint, names: resolveNames }),
      polling: createPollingProcessor({ pool, kube, env: config.outgoing, names: resolveNames }),
      bindings: createBindingProcessor({ pool, kube, clock, names: resolveNames, open: createRemoteServers(binders) }),
      events: createEventsProcessor({
        pool,
        kube,
        clock,
        failpoint,
        names: resolveNames,
        sources: {
          postgres: remoteSource,
          mysql: remoteSource,
          redis: remoteSource,
          minio: createMinioSource({ pool, list: createRemoteListing(readers) }),
        },
      }),
      images: createImageProcessor({ pool, kube, clock }),
      alerts: createAlertsProcessor({ pool, clock, alerts: createAlertStore(config.alertServers) }),
      'log-drains': createLogDrainProcessor({
        pool,
        kube,
        keyRing,
        clock,
        feed: url === undefined ? undefined : createFeedClient({ url, token }),
        metrics: createLogDrainMetrics(registry, pool),
        failpoint,
      }),
      housekeeping: createHousekeepingProcessor({ pool, clock }),
    };
    const names = Object.keys(catalogue) as QueueName[];
    const metrics = createBusMetrics(registry);
    const queues = names.map((queue) => createJobQueue({ name: queue, redis: config.redis, log }));
    metrics.watch(pool, queues);
    watchEvents(registry, pool);
    watchPlatform(registry, pool);
    const dispatcher = createDispatcher({ pool, queues, clock, log, metrics, failpoint });

    for (const queue of names) {
      const runner = createRunner({
        name: queue,
        process: processors[queue],
        pool,
        redis: config.redis,
        clock,
        log,
        metrics,
        onEnd: () => dispatcher.wake(),
      });
      runner.start();
      lifecycle.add({ name: `runner of ${queue}`, stop: () => runner.stop() });
    }

    // Stopped before the runners, so that no work starts while running attempts end.
    for (const queue of queues) queue.start();
    lifecycle.add({ name: 'queues', stop: async () => void (await Promise.all(queues.map((queue) => queue.stop()))) });
    dispatcher.start();
    lifecycle.add({ name: 'dispatcher', stop: () => dispatcher.stop() });

    const listener = createListener({
      ...config.database,
      channel: 'work',
      onNotify: () => dispatcher.wake(),
      clock,
      log,
    });
    listener.start();
    lifecycle.add({ name: 'listener', stop: () => listener.stop() });

    const informer = createInformer<App>({ kube, kind: kinds.App, clock, log });
    const wake = (workloadId: Id) => nudgeRollouts(pool, workloadId);
    const watch = createCompletionWatch({ informer, isCompletion: isReleaseCompletion, wake, clock, log });
    watch.start();
    lifecycle.add({ name: 'rollout watch', stop: () => watch.stop() });
    informer.start();
    lifecycle.add({ name: 'informer', stop: () => informer.stop() });

    const selection = { namespace: buildNamespace };
    const builds = createInformer<Build>({ kube, kind: kinds.Build, selection, clock, log });
    const buildWatch = createCompletionWatch({
      informer: builds,
      isCompletion: isBuildCompletion,
      clock,
      log,
      wake: (deploymentId) => expediteWork(pool, 'builds', [deploymentId]),
    });
    buildWatch.start();
    lifecycle.add({ name: 'build watch', stop: () => buildWatch.stop() });
    builds.start();
    lifecycle.add({ name: 'informer of builds', stop: () => builds.stop() });
    started = true;
  },
});
