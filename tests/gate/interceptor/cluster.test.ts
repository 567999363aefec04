import { once } from 'node:events';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { Registry } from 'prom-client';
import t from 'tap';
import { createActivator } from '../../../gate/interceptor/activator.ts';
import { createActivity } from '../../../gate/interceptor/activity.ts';
import { createEndpoints } from '../../../gate/interceptor/endpoints.ts';
import { createInterceptor } from '../../../gate/interceptor/interceptor.ts';
import { createInterceptorMetrics } from '../../../gate/interceptor/metrics.ts';
import { connectProbe } from '../../../gate/interceptor/probe.ts';
import { createProxyServer } from '../../../gate/interceptor/proxy-server.ts';
import { createRoutes } from '../../../gate/interceptor/routes.ts';
import { createRequestQueue } from '../../../gate/interceptor/request-queue.ts';
import { codeConfigMap } from '../../../infra/manifests/function-pod.ts';
import { functionDeployment } from '../../../infra/manifests/function.ts';
import type { Pod } from '../../../runtime/contracts/pod.ts';
import type { FunctionResource } from '../../../runtime/contracts/resources/function.ts';
import { kinds } from '../../../runtime/contracts/resources/kinds.ts';
import { platformConfigName, type PlatformConfig } from '../../../runtime/contracts/resources/platform-config.ts';
import { systemClock } from '../../../runtime/domain/clock.ts';
import { idLabel } from '../../../runtime/domain/labels.ts';
import { createInformers } from '../../../runtime/kube/informers.ts';
import type { KubeClient } from '../../../runtime/kube/kube-client.ts';
import { createScaler, type ScaledDeployment } from '../../../workers/scaler/scaler.ts';
import { noCluster, testCluster } from '../../support/kubernetes.ts';
import { silentLog } from '../../support/log.ts';
import { functionId, helloFunction, helloPod, host, testSource, noEvents } from './world.ts';

const log = silentLog;
const clock = systemClock;

t.test('a real function scales from zero and back, and no request is lost', { skip: noCluster }, async (t) => {
  const { kube, namespace } = await testCluster(t);
  const config = await kube.get<PlatformConfig>(kinds.PlatformConfig, platformConfigName);
  if (!config) throw new Error('the platform is not installed in the cluster');
  const writes: string[] = [];
  const counting: Pick<KubeClient, 'getScale' | 'replaceScale'> = {
    getScale: (...args) => kube.getScale(...args),
    replaceScale: async (scale, replicas) => {
      await kube.replaceScale(scale, replicas);
      writes.push(`${scale.replicas}>${replicas}`);
    },
  };

  const resource = helloFunction();
  resource.metadata.namespace = namespace;
  const code = 'export const handler = (event, context) => ({ statusCode: 200, body: context.path });';
  resource.spec = { ...resource.spec, code, idleTimeoutSeconds: 2 };
  const functions = testSource<FunctionResource>();
  functions.put(resource);
  const identity = { id: functionId, name: 'hello', namespace };
  await kube.create(codeConfigMap(identity, { runtime: 'node', code }));
  await kube.create(functionDeployment(identity, resource.spec, { image: config.spec.runtimeImages.node }));

  const informers = createInformers({ kube, clock, log });
  const selection = { namespace, labelSelector: `${idLabel}=${functionId}` };
  const pods = informers.of<Pod>(kinds.Pod, selection);
  const deployments = informers.of<ScaledDeployment>(kinds.Deployment, selection);
  informers.start();
  t.teardown(() => informers.stop());
  await informers.whenSynced();

  const startInterceptor = async (replica: string) => {
    const routes = createRoutes(functions);
    const endpoints = createEndpoints({ pods, probe: connectProbe, clock, log });
    const activator = createActivator({ kube: counting, endpoints, clock, log, holdMs: 60_000, queueMax: 100 });
    const queue = createRequestQueue({ endpoints, clock, queueMax: 100, holdMs: 60_000 });
    const activity = createActivity(clock);
    const metrics = createInterceptorMetrics(new Registry(), { inflight: () => 0, waiting: () => 0 });
    const interceptor = createInterceptor({
      replica,
      routes,
      endpoints,
      activator,
      queue,
      activity,
      metrics,
      denials: { record: () => undefined },
      clock,
      log,
      holdMs: 60_000,
    });
    const server = createProxyServer({ interceptor, clock, port: 0, host: '127.0.0.1', lingerMs: 0, drainMs: 0 });
    routes.start();
    endpoints.start();
    activator.start();
    queue.start();
    const port = await server.start();
    t.teardown(async () => {
      await server.stop();
      queue.stop();
      activator.stop();
      endpoints.stop();
      routes.stop();
    });
    return { port, interceptor };
  };
  const interceptors = [await startInterceptor('interceptor-0'), await startInterceptor('interceptor-1')];
  let requests = 0;
  const ask = async () => {
    const path = `/${requests++}`;
    const port = interceptors[requests % 2]?.port ?? 0;
    const request = httpRequest({ host: '127.0.0.1', port, path, headers: { host }, agent: false }).end();
    const [response] = (await once(request, 'response')) as [IncomingMessage];
    const right = (await text(response)) === path;
    return { status: right ? response.statusCode : 0, cold: response.headers['x-svc-cold-start'] };
  };
  const podChange = (holds: (change: { type: string; object: Pod }) => boolean) =>
    new Promise<void>((resolve) => {
      const unsubscribe = pods.onChange((change) => {
        if (!holds(change)) return;
        unsubscribe();
        resolve();
      });
    });

  t.same(
    await Promise.all(Array.from({ length: 10 }, ask)),
    Array.from({ length: 10 }, () => ({ status: 200, cold: 'true' })),
  );
  t.same(writes, ['0>1']);
  t.same(await ask(), { status: 200, cold: 'false' });

  const going = podChange(({ object }) => object.metadata.deletionTimestamp !== undefined);
  const scaler = createScaler({
    ...noEvents,
    kube: counting,
    functions: { ...functions, version: () => '1' },
    deployments,
    clock,
    log,
    registry: new Registry(),
    interceptors: {
      list: () => interceptors.map((_, n) => helloPod(`interceptor-${n}`, 1, { podIP: '127.0.0.1', phase: 'Running' })),
    },
    fetchReport: async (pod) => {
      const reports = interceptors.map(({ interceptor }) => interceptor.report());
      return reports.find(({ replica }) => replica === pod.metadata.name);
    },
  });
  scaler.start();
  t.teardown(() => scaler.stop());
  await going;
  t.same(writes, ['0>1', '1>0']);
  const crossing = await Promise.all(Array.from({ length: 5 }, ask));
  t.ok(
    crossing.every(({ status }) => status === 200),
    'requests that cross the scale-down are answered',
  );
  t.same(writes.slice(0, 3), ['0>1', '1>0', '0>1']);
  await podChange(({ type }) => type === 'deleted' && pods.list().length === 0);
  t.same(writes, ['0>1', '1>0', '0>1', '1>0'], 'and back to zero');
});
