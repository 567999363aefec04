import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Pool } from 'pg';
import type { Registry } from 'prom-client';
import packageJson from '../package.json' with { type: 'json' };
import { kinds } from '../runtime/contracts/resources/kinds.ts';
import type { Project } from '../runtime/contracts/resources/project.ts';
import { createListener } from '../runtime/db/listener.ts';
import { waitForSchema } from '../runtime/db/migrate.ts';
import { createPool } from '../runtime/db/pool.ts';
import { systemClock } from '../runtime/domain/clock.ts';
import { Problem } from '../runtime/domain/problem.ts';
import { parseKeyRing, type KeyRing } from '../runtime/domain/sealed.ts';
import { parseTrustedProxies } from '../runtime/domain/trusted-proxies.ts';
import { createAdminServer } from '../runtime/process/admin-server.ts';
import { loadConsoleConfig } from '../runtime/process/config.ts';
import { createHttpApp } from '../runtime/http/app.ts';
import { createBodyMemory, type BodyMemory } from '../runtime/http/body-memory.ts';
import { responseHeaders } from '../runtime/http/response-headers.ts';
import type { Route } from '../runtime/http/route.ts';
import { createHttpServer } from '../runtime/http/server.ts';
import { createWebSockets } from '../runtime/http/web-sockets.ts';
import { runProcess, type Lifecycle } from '../runtime/process/lifecycle.ts';
import { resolveTxt } from '../runtime/process/dns.ts';
import { createLogger } from '../runtime/process/log.ts';
import { createMetrics } from '../runtime/process/metrics.ts';
import { openMetricsStore } from '../runtime/metrics/open-store.ts';
import { readPlatformConfig } from '../runtime/workloads/platform-config.ts';
import { createRouteCaller } from '../runtime/assistant/call-route.ts';
import { createProjectRedact } from '../runtime/assistant/project-redact.ts';
import { createTools } from '../runtime/assistant/tools.ts';
import { enabledLogStore } from '../runtime/api/enabled-log-store.ts';
import { createLogServices } from '../runtime/api/log-reply.ts';
import { createMetricsSources } from '../runtime/api/metrics-sources.ts';
import { createLogClient } from '../runtime/logs/client.ts';
import { createProjectAccess, type ProjectAccessControl } from '../runtime/api/project-access.ts';
import { connectKube } from '../runtime/kube/connect.ts';
import { createNotifyWaiter } from '../runtime/db/notify-waiter.ts';
import type { KubeClient, KubeExec } from '../runtime/kube/kube-client.ts';
import { createObjectCopies } from '../runtime/kube/object-copies.ts';
import { environmentsOf, resolveEnvironment } from '../runtime/kube/environments.ts';
import { recordTokenUse } from '../runtime/records/access-tokens.ts';
import { createAuditRecorder } from '../runtime/records/audit-entries.ts';
import { eventsChannel } from '../runtime/records/function-events.ts';
import { countFounder, deleteProjectMembers, insertFounder } from '../runtime/records/members.ts';
import { findWorkload } from '../runtime/records/workloads.ts';
import { recordSessionUse } from '../runtime/records/sessions.ts';
import { createAlertRoutes } from './alerts/handler.ts';
import { createAuditRoutes } from './audit/handler.ts';
import { createAssistantRoutes } from './assistant/handler.ts';
import { createAssistantProviderRoutes } from './assistant-provider/handler.ts';
import { createAppliedConfigurationRoutes } from './applied-configurations/handler.ts';
import { createAppRoutes } from './apps/handler.ts';
import { readConsoleAssets } from './console/assets.ts';
import { createConsoleSite } from './console/handler.ts';
import { createDeploymentRoutes } from './deployments/handler.ts';
import { createExecRoutes } from './exec/handler.ts';
import { createOpenRuns, type OpenRuns } from './exec/open-runs.ts';
import { createEventDelivery } from './event-delivery/handler.ts';
import { createDeliveryMetrics } from './event-delivery/metrics.ts';
import { createFunctionRoutes } from './functions/handler.ts';
import { createGitRoutes } from './git/handler.ts';
import { createGateRoutes } from './gate/handler.ts';
import { createHealthRoutes, readControllerHealth } from './health/handler.ts';
import { createHistoryRoutes } from './history/handler.ts';
import { createImageRoutes } from './images/handler.ts';
import { createInvocationRoutes } from './invocations/handler.ts';
import { createJobRoutes } from './jobs/handler.ts';
import { createKeyRoutes } from './keys/handler.ts';
import { createLogDrainRoutes } from './log-drain/handler.ts';
import { createMcpRoutes } from './mcp/handler.ts';
import { createMetricsRoutes } from './metrics/handler.ts';
import { createMemberRoutes } from './members/handler.ts';
import { createNotificationRoutes } from './notifications/handler.ts';
import { createPlanRoutes } from './plans/handler.ts';
import { createChecks, sourceChecks } from './platform/checks.ts';
import { createPlatformRoutes } from './platform/handler.ts';
import { createPortForwardRoutes } from './port-forward/handler.ts';
import { createProjectRoutes } from './projects/handler.ts';
import { createAuthenticate } from './sessions/authenticate.ts';
import { ensureFirstAdmin } from './sessions/first-admin.ts';
import { createScheduleRoutes } from './schedules/handler.ts';
import { createServiceRoutes } from './services/handler.ts';
import { createSessionRoutes } from './sessions/handler.ts';
import { createDevices } from './sessions/devices.ts';
import { createLoginLimit } from './sessions/login-limit.ts';
import { createPasswords, type Passwords } from './sessions/password.ts';
import { createLastUses } from './sessions/last-uses.ts';
import { createTokenRoutes } from './tokens/handler.ts';
import { createSourceRoutes } from './sources/handler.ts';
import { createSourceServer } from './sources/serve.ts';
import { createUsageRoutes } from './usage/handler.ts';
import { createUserRoutes } from './users/handler.ts';
import { createVolumeRoutes } from './volumes/handler.ts';
import { createFeeds } from './watch/feeds.ts';
import { createWatchRoutes } from './watch/handler.ts';
import { createAlertStore } from '../runtime/services/alert-store.ts';
import { createAcceptanceNotifier, type AcceptanceNotifier } from './webhooks/acceptance-notifier.ts';
import { createBuildsReader } from './webhooks/build-registry.ts';
import {
  createDeploymentWaiter,
  deploymentEndsChannel,
  type DeploymentWaiter,
} from './webhooks/deployment-completion.ts';
import { createWebhookRoutes } from './webhooks/handler.ts';
import { createRateLimit } from './webhooks/rate-limit.ts';
import { createDeliveryHandler } from './webhooks/delivery-handler.ts';
import { createTokenStore } from './webhooks/token-store.ts';
import { createVerifySecretUrl, createVerifyWebhook } from './webhooks/verify.ts';

/** The time that the ingress needs to stop sending requests to this pod. */
const lingerMs = 5_000;

const config = loadConsoleConfig(process.env);
const trustedProxies = parseTrustedProxies(process.argv.slice(2));
const log = createLogger('console-api', config.log);
const clock = systemClock;
const { baseUrl } = config;
const { version } = packageJson;

await runProcess({
  name: 'console-api',
  log,
  async start(lifecycle) {
    const registry = createMetrics();
    let started = false;

    // Starts first and stops last, because the kubelet probes it during startup and shutdown.
    const admin = createAdminServer({
      port: config.admin.port,
      registry,
      // Independent of the stores: without them, requests get a 503 that explains it, which the ingress would not send.
      ready: () => started && lifecycle.running(),
    });
    await admin.start();
    lifecycle.add({ name: 'admin server', stop: () => admin.stop() });

    const pool = createPool({ ...config.database, name: 'console-api', max: 14, min: 1, log });
    lifecycle.add({ name: 'database', stop: () => pool.end() });
    const webhookPool = createPool({ ...config.database, name: 'console-api', max: 6, min: 1, keepsPlans: true, log });
    lifecycle.add({ name: 'database of webhooks', stop: () => webhookPool.end() });
    await waitForSchema(pool, { clock, log, signal: lifecycle.signal });

    const client = await connectKube(config.kubernetes);
    lifecycle.add({ name: 'kubernetes', stop: () => client.close() });
    const copies = createObjectCopies({ kube: client, clock, log });
    lifecycle.add({ name: 'copies of objects', stop: () => copies.stop() });
    const kube: KubeClient & KubeExec = { ...client, copies };

    const passwords = createPasswords();
    await ensureFirstAdmin({ pool, passwords, log, ...config.firstAdmin });

    const keyRing = parseKeyRing(await readFile(config.encryptionKeysFile, 'utf8'));
    const deployments = createDeploymentWaiter({ pool, clock });
    const notifier = createAcceptanceNotifier({ pool, clock, log });
    lifecycle.add({ name: 'acceptance notifier', stop: () => notifier.drain() });
    const openRuns = createOpenRuns();
    lifecycle.add({ name: 'runs of sessions', stop: () => openRuns.drain() });
    const tokenUses = createLastUses({ clock, log, record: (...use) => recordTokenUse(pool, ...use) });
    const sessionUses = createLastUses({ clock, log, record: (...use) => recordSessionUse(pool, ...use) });
    lifecycle.add({ name: 'uses of access tokens', stop: () => tokenUses.drain() });
    lifecycle.add({ name: 'uses of sessions', stop: () => sessionUses.drain() });
    const { authorize, visibleProjects } = createProjectAccess({ kube, pool });
    const authenticate = createAuthenticate({ pool, clock, baseUrl, tokenUses, sessionUses });
    const feeds = createFeeds({ kube, copies, pool, clock, log });
    copies.start();
    // There is a check for each change, so it reads Projects from a watch.
    const watchAccess = createProjectAccess({ kube, pool, findProject: (name) => feeds.findProject(name) });
    const bodies = createBodyMemory();
    const sockets = createWebSockets();
    const recordAudit = createAuditRecorder({ pool, clock });
    const routes = [
      ...consoleRoutes({
        kube,
        pool,
        webhookPool,
        registry,
        passwords,
        keyRing,
        visibleProjects,
        deployments,
        notifier,
        openRuns,
      }),
      ...createWatchRoutes({ kube, feeds, clock, authenticate, authorize: watchAccess.authorize }),
    ];
    const projectRedact = createProjectRedact({ kube, clock });
    const tools = createTools({ routes, caller: createRouteCaller({ authorize, recordAudit }), projectRedact });
    const app = createHttpApp({
      routes: [...routes, ...createAssistantRoutes({ pool, keyRing, clock, kube, tools, projectRedact, recordAudit })],
      rootRoutes: [...createHealthRoutes({ pool }), ...createMcpRoutes({ tools, version, baseUrl })],
      site: createConsoleSite({ assets: readConsoleAssets(join(import.meta.dirname, 'console/dist')), baseUrl }),
      authenticate,
      authorize,
      recordAudit,
      log,
      registry,
      trustedProxies,
      bodies,
      sockets,
      baseUrl,
      version,
    });
    const listener = createListener({
      ...config.database,
      channel: deploymentEndsChannel,
      onNotify: (payload) => deployments.notified(payload),
      clock,
      log,
    });
    listener.start();
    lifecycle.add({ name: 'listener', stop: () => listener.stop() });

    await startEventDelivery(lifecycle, { kube, pool, registry, bodies });

    const server = createHttpServer({
      port: config.http.port,
      listener: app.callback(),
      sockets,
      headers: responseHeaders(baseUrl),
      lingerMs,
    });
    await server.start();
    lifecycle.add({ name: 'main server', stop: () => server.stop() });
    lifecycle.add({ name: 'event streams', stop: () => feeds.stop() });
    lifecycle.add({ name: 'waits for deployments', stop: () => Promise.resolve(deployments.stop()) });
    started = true;
  },
});

interface RouteDependencies {
  kube: KubeClient & KubeExec;
  pool: Pool;
  /** Finds the receivers of webhooks and accepts deliveries. */
  webhookPool: Pool;
  registry: Registry;
  passwords: Passwords;
  keyRing: KeyRing;
  visibleProjects: ProjectAccessControl['visibleProjects'];
  deployments: DeploymentWaiter;
  notifier: AcceptanceNotifier;
  openRuns: OpenRuns;
}

/** The routes under `/api/v1`. */
function consoleRoutes(dependencies: RouteDependencies): Route[] {
  const { kube, pool, webhookPool, registry, passwords, keyRing, visibleProjects, deployments, notifier, openRuns } =
    dependencies;
  const tokens = createTokenStore({ kube, keyRing, log });
  const verify = createVerifyWebhook({ pool: webhookPool, tokens, clock });
  const loginLimit = createLoginLimit({ pool, clock });
  const { metricsStore } = config;
  const store =
    metricsStore.url === undefined
      ? undefined
      : openMetricsStore(metricsStore.url, async () => (await readFile(metricsStore.tokenFile, 'utf8')).trim());
  const sources = createMetricsSources({ kube, pool, store });
  const checks = createChecks({ pool, controllersWork: async () => (await readControllerHealth(pool)).healthy });
  const { url, tokenFile } = config.logStore;
  const logClient = url === undefined ? undefined : createLogClient({ url, token: () => readFile(tokenFile, 'utf8') });
  const logs = createLogServices(logClient && enabledLogStore(logClient, { kube, log }));
  const gateRecords = {
    pool,
    resolveEnvironment: (project: string, environment?: string) => resolveEnvironment(kube, project, environment),
    projectEnvironments: async (name: string) => {
      const project = await kube.get<Project>(kinds.Project, name);
      if (!project) throw new Problem('not_found', `There is no project "${name}".`);
      return environmentsOf(project);
    },
  };
  return [
    ...createSessionRoutes({ pool, clock, passwords, loginLimit, devices: createDevices({ keyRing, clock }), baseUrl }),
    ...createUserRoutes({ pool, kube, clock, passwords, loginLimit }),
    ...createProjectRoutes({
      kube,
      visibleProjects,
      members: {
        countFounder: (projectId, userId, max) => countFounder(pool, projectId, userId, max),
        insertFounder: (projectId, userId) => insertFounder(pool, projectId, userId),
        forget: (projectId) => deleteProjectMembers(pool, projectId),
      },
    }),
    ...createMemberRoutes({ pool }),
    ...createAuditRoutes({ pool }),
    ...createTokenRoutes({ kube, pool, clock }),
    ...createAppRoutes({ kube, pool, clock, baseUrl, logs, resolveTxt }),
    ...createWebhookRoutes({
      kube,
      pool,
      tokens,
      clock,
      verify,
      deployments,
      registry,
      baseUrl,
      handleDelivery: createDeliveryHandler({
        pool: webhookPool,
        notifier,
        readBuilds: createBuildsReader({ kube, clock }),
      }),
      verifySecretUrl: createVerifySecretUrl({ pool: webhookPool }),
      limit: createRateLimit({ clock, rate: config.webhookRate }),
    }),
    ...createDeploymentRoutes({ kube, pool }),
    ...createGitRoutes({ kube, pool, baseUrl }),
    ...createSourceRoutes({ kube, pool, baseUrl }),
    ...createImageRoutes({ kube, pool }),
    ...createHistoryRoutes({ kube, pool, verifyToken: verify, baseUrl }),
    ...createNotificationRoutes({ pool, keyRing, baseUrl, readSettings: () => readPlatformConfig(kube) }),
    ...createLogDrainRoutes({ pool, keyRing }),
    ...createAssistantProviderRoutes({ pool, keyRing, clock, kube }),
    ...createPlanRoutes(gateRecords),
    ...createKeyRoutes({
      ...gateRecords,
      clock,
      findGated: async (namespace, name) => {
        const workload = await findWorkload(pool, namespace, name);
        return workload?.kind === 'Job' ? undefined : workload;
      },
    }),
    ...createUsageRoutes({ ...gateRecords, clock }),
    ...createGateRoutes({ pool, clock }),
    ...createFunctionRoutes({ kube, pool, clock, baseUrl, logs, visibleProjects, resolveTxt }),
    ...createInvocationRoutes({ kube, clock, interceptorUrl: config.interceptorUrl }),
    ...createJobRoutes({ kube, pool, clock, baseUrl, logs }),
    ...createScheduleRoutes({ clock }),
    ...createVolumeRoutes({ kube }),
    ...createAppliedConfigurationRoutes(gateRecords),
    ...createServiceRoutes({ kube }),
    ...createMetricsRoutes({ kube, pool, clock, store, sources }),
    ...createExecRoutes({ kube, clock, idleMs: config.sessionIdleMs, openRuns }),
    ...createPortForwardRoutes({ kube, clock, idleMs: config.sessionIdleMs }),
    ...createAlertRoutes({ alerts: createAlertStore(config.alertServers), clock }),
    ...createPlatformRoutes({
      version,
      kube,
      components: { ...checks.components, ...sourceChecks(sources) },
      nodes: checks.nodes,
    }),
  ];
}

/** Starts the server for pods: functions get their events from it, and builds the files that were uploaded for them. */
async function startEventDelivery(
  lifecycle: Lifecycle,
  { kube, pool, registry, bodies }: Pick<RouteDependencies, 'kube' | 'pool' | 'registry'> & { bodies: BodyMemory },
): Promise<void> {
  const waits = createNotifyWaiter({ clock });
  const eventsListener = createListener({
    ...config.database,
    channel: eventsChannel,
    onNotify: (payload) => waits.notified(payload),
    clock,
    log,
  });
  eventsListener.start();
  lifecycle.add({ name: 'listener for events', stop: () => eventsListener.stop() });
  const deliver = createEventDelivery({
    pool,
    kube,
    clock,
    waits,
    log,
    bodies,
    metrics: createDeliveryMetrics(registry),
  });
  const serveSource = createSourceServer({ pool, log, bodies });
  const events = createHttpServer({
    port: config.events.port,
    listener: async (request, response) => {
      if (!(await serveSource(request, response))) await deliver(request, response);
    },
  });
  await events.start();
  lifecycle.add({ name: 'server of events', stop: () => events.stop() });
  lifecycle.add({ name: 'waits for events', stop: () => Promise.resolve(waits.stop()) });
}
