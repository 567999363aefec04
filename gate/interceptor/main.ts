import type { Pod } from '../../runtime/contracts/pod.ts';
import type { FunctionResource } from '../../runtime/contracts/resources/function.ts';
import { kinds } from '../../runtime/contracts/resources/kinds.ts';
import { systemClock } from '../../runtime/domain/clock.ts';
import { kindLabel, roleLabel } from '../../runtime/domain/labels.ts';
import { createAdminServer } from '../../runtime/process/admin-server.ts';
import { loadInterceptorConfig } from '../../runtime/process/config.ts';
import { createDenialLog, createLostDenials } from '../../runtime/process/denial-log.ts';
import { runProcess } from '../../runtime/process/lifecycle.ts';
import { openLineOutput } from '../../runtime/process/line-output.ts';
import { createLogger } from '../../runtime/process/log.ts';
import { createMetrics } from '../../runtime/process/metrics.ts';
import { connectKube } from '../../runtime/kube/connect.ts';
import { createInformers } from '../../runtime/kube/informers.ts';
import { createActivator } from './activator.ts';
import { createActivity } from './activity.ts';
import { createEndpoints } from './endpoints.ts';
import { createInterceptor } from './interceptor.ts';
import { createInterceptorMetrics } from './metrics.ts';
import { connectProbe } from './probe.ts';
import { createProxyServer } from './proxy-server.ts';
import { createRoutes } from './routes.ts';
import { createRequestQueue } from './request-queue.ts';

const name = 'svc-interceptor';
/** Maximum time for which a request waits for a function to start. */
const holdMs = 60_000;
/** Maximum waiting requests of one function in this replica. */
const queueMax = 1_000;
/** The ingress needs about this long to notice that an endpoint terminates. */
const lingerMs = 5_000;
/** Together with the linger time, less than the 25 s that a process has to stop. */
const drainMs = 17_000;
const stdout = 1;

const config = loadInterceptorConfig(process.env);
const log = createLogger(name, config.log);

await runProcess({
  name,
  log,
  async start(lifecycle) {
    const clock = systemClock;
    const registry = createMetrics();
    const kube = await connectKube(config.kubernetes);
    lifecycle.add({ name: 'kubernetes client', stop: () => kube.close() });
    const informers = createInformers({ kube, clock, log });
    const functions = informers.of<FunctionResource>(kinds.Function);
    const routes = createRoutes(functions);
    const pods = informers.of<Pod>(kinds.Pod, { labelSelector: `${kindLabel}=Function,${roleLabel}=serve` });
    const endpoints = createEndpoints({ pods, probe: connectProbe, clock, log });
    const activator = createActivator({ kube, endpoints, clock, log, queueMax, holdMs });
    const queue = createRequestQueue({ endpoints, clock, queueMax, holdMs });
    const activity = createActivity(clock);
    const metrics = createInterceptorMetrics(registry, {
      inflight: () => activity.inflight(),
      waiting: () => activator.waiting() + queue.waiting(),
    });
    functions.onChange(({ type, object: { metadata } }) => {
      if (type === 'deleted') metrics.forget({ namespace: metadata.namespace ?? '', name: metadata.name });
    });
    const output = openLineOutput(stdout);
    const lostDenials = createLostDenials(registry);
    const denials = createDenialLog({ name, output, clock, onLost: () => lostDenials.inc() });
    lifecycle.add({
      name: 'denial log',
      stop: () => {
        denials.close();
        return output.close();
      },
    });
    const interceptor = createInterceptor({
      replica: config.pod.name,
      routes,
      endpoints,
      activator,
      queue,
      activity,
      metrics,
      denials,
      clock,
      log,
      holdMs,
    });

    let serving = false;
    const admin = createAdminServer({
      port: config.admin.port,
      registry,
      ready: () => serving && lifecycle.running(),
      pages: { '/report': () => interceptor.report() },
    });
    await admin.start();
    // Added first, so that it stops last: the scaler reads the report while requests are active.
    lifecycle.add({ name: 'admin server', stop: () => admin.stop() });

    routes.start();
    endpoints.start();
    activator.start();
    queue.start();
    informers.start();
    lifecycle.add({ name: 'informers', stop: () => informers.stop() });
    lifecycle.add({
      name: 'activator',
      stop: () => {
        queue.stop();
        activator.stop();
        endpoints.stop();
        routes.stop();
      },
    });
    await informers.whenSynced();

    const server = createProxyServer({ interceptor, clock, port: config.http.port, lingerMs, drainMs });
    await server.start();
    lifecycle.add({ name: 'proxy server', stop: () => server.stop() });
    serving = true;
  },
});
