import { Registry } from 'prom-client';
import { createActivator } from '../../../gate/interceptor/activator.ts';
import { createActivity } from '../../../gate/interceptor/activity.ts';
import { createEndpoints } from '../../../gate/interceptor/endpoints.ts';
import { createInterceptor } from '../../../gate/interceptor/interceptor.ts';
import { createInterceptorMetrics } from '../../../gate/interceptor/metrics.ts';
import { connectProbe } from '../../../gate/interceptor/probe.ts';
import { createProxyServer } from '../../../gate/interceptor/proxy-server.ts';
import { createRoutes } from '../../../gate/interceptor/routes.ts';
import { createRequestQueue } from '../../../gate/interceptor/request-queue.ts';
import type { Pod } from '../../../runtime/contracts/pod.ts';
import type { FunctionResource } from '../../../runtime/contracts/resources/function.ts';
import { systemClock as clock } from '../../../runtime/domain/clock.ts';
import { helloFunction, helloPod, testScale, testSource } from '../../gate/interceptor/world.ts';
import { silentLog as log } from '../../support/log.ts';

/** The interceptor as deployed, but without Kubernetes: one function with one pod, at `POD_PORT`. */
const holdMs = 60_000;
const queueMax = 1_000;
const functions = testSource<FunctionResource>();
const pods = testSource<Pod>();
const routes = createRoutes(functions);
const endpoints = createEndpoints({ pods, probe: connectProbe, clock, log });
const activator = createActivator({ kube: testScale(1), endpoints, clock, log, queueMax, holdMs });
const queue = createRequestQueue({ endpoints, clock, queueMax, holdMs });
const activity = createActivity(clock);
const metrics = createInterceptorMetrics(new Registry(), {
  inflight: () => activity.inflight(),
  waiting: () => activator.waiting(),
});
const interceptor = createInterceptor({
  replica: 'interceptor-0',
  routes,
  endpoints,
  activator,
  queue,
  activity,
  metrics,
  denials: { record: () => undefined },
  clock,
  log,
  holdMs,
});
functions.put(helloFunction());
pods.put(helloPod('pod-0', Number(process.env['POD_PORT']), { podIP: '127.0.0.1' }));
routes.start();
endpoints.start();
activator.start();
queue.start();
const port = Number(process.env['PORT']);
await createProxyServer({ interceptor, clock, port, host: '127.0.0.1', lingerMs: 0, drainMs: 0 }).start();
