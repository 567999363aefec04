import t from 'tap';
import { appRoute } from '../../../infra/manifests/app-route.ts';
import { ingressRoute, routeGate, routeSecurity, sharedObjects } from '../../../infra/manifests/workload-route.ts';
import { appDeployment, appService, type AppManifestInput } from '../../../infra/manifests/app.ts';
import type { Pod } from '../../../runtime/contracts/pod.ts';
import { kinds } from '../../../runtime/contracts/resources/kinds.ts';
import { systemClock } from '../../../runtime/domain/clock.ts';
import { newId } from '../../../runtime/domain/ids.ts';
import { applyObject } from '../../../runtime/kube/children.ts';
import { createInformer, type Informer } from '../../../runtime/kube/informer.ts';
import type { Deployment } from '../../../workers/controllers/deployment-object.ts';
import { releaseStatus } from '../../../workers/controllers/app-release.ts';
import { faultText } from '../../../workers/controllers/release-fault.ts';
import { noCluster, testCluster } from '../../support/kubernetes.ts';
import { silentLog } from '../../support/log.ts';

const image = 'localhost:5000/svc/hello:v1';

/** Resolves with the first object that matches, now or after a change. */
function first<T extends Deployment | Pod, R>(informer: Informer<T>, look: (object: T) => R | undefined): Promise<R> {
  return new Promise((resolve) => {
    const check = (object: T) => {
      const result = look(object);
      if (result !== undefined) resolve(result);
    };
    informer.onChange(({ object }) => check(object));
    for (const object of informer.list()) check(object);
  });
}

t.test('Kubernetes runs the objects of an app as intended', { skip: noCluster, timeout: 180_000 }, async (t) => {
  const { kube, namespace } = await testCluster(t);
  const watch = <T extends Deployment | Pod>(kind: (typeof kinds)['Deployment' | 'Pod']): Informer<T> => {
    const informer = createInformer<T>({ kube, kind, selection: { namespace }, clock: systemClock, log: silentLog });
    t.teardown(() => informer.stop());
    informer.start();
    return informer;
  };
  const deployments = watch<Deployment>(kinds.Deployment);
  const pods = watch<Pod>(kinds.Pod);
  await Promise.all([deployments.whenSynced(), pods.whenSynced()]);

  const input = (generation: number, of = image): AppManifestInput => ({
    id: newId(),
    name: 'api',
    namespace,
    spec: { port: 8080, replicas: 1, healthPath: '/healthz' },
    release: { generation, deploymentId: newId(), image: of },
  });
  const one = input(1);
  const hosts = [`api--${namespace}.apps.test`, `${namespace}.example.com`];
  const security = { headers: true, csp: ['*.example.org'] };
  const route = appRoute({ ...one, hosts, entryPoints: ['web'], scheme: 'http', gated: true, security });
  const middlewares = [...sharedObjects(route), routeSecurity(route), routeGate(route)].filter(
    (object) => object !== undefined,
  );
  const all = [...middlewares, appDeployment(one), appService(one), ingressRoute(route)];
  for (const object of all) t.equal(await applyObject(kube, object), 'created', object.kind);
  for (const object of all) t.equal(await applyObject(kube, object), 'unchanged', `${object.kind} again`);

  const phaseOf =
    ({ spec, release }: AppManifestInput) =>
    (deployment: Deployment) => {
      const app = { spec: { image, ...spec, release } };
      const stored = deployments.get('api', namespace);
      return stored && deployment === stored && releaseStatus(app, stored, [], new Date())?.phase === 'available'
        ? true
        : undefined;
    };
  t.ok(await first(deployments, phaseOf(one)), 'its pod serves');
  for (const object of all) t.equal(await applyObject(kube, object), 'unchanged', `${object.kind} while it runs`);

  const two = { ...one, release: { ...one.release, generation: 2 } };
  t.equal(await applyObject(kube, appDeployment(two)), 'updated');
  t.ok(await first(deployments, phaseOf(two)), 'the same image again makes new pods');

  const brokenSpec = {
    ...one,
    release: { ...one.release, generation: 3, image: 'localhost:5000/svc/hello:never-built' },
  };
  await applyObject(kube, appDeployment(brokenSpec));
  const fault = await first(pods, (pod) =>
    pod.metadata.annotations?.['platform.svc/release'] === '3' ? faultText(pod) : undefined,
  );
  t.match(fault, /^The image cannot be pulled \((ErrImagePull|ImagePullBackOff)\).*never-built/);
  t.equal(deployments.get('api', namespace)?.status?.availableReplicas, 1, 'the previous pods keep serving');
});

t.test('the API server stores limits and volumes unchanged', { skip: noCluster }, async (t) => {
  const { kube, namespace } = await testCluster(t);
  const base: AppManifestInput = {
    id: newId(),
    name: 'idle',
    namespace,
    spec: { port: 8080, replicas: 0, volumes: ['/a', '/b'].map((path) => ({ name: 'data', path })) },
    release: { generation: 1, deploymentId: newId(), image, envSecret: 'app-idle-env-0123456789abcdef' },
  };
  t.equal(await applyObject(kube, appDeployment(base)), 'created');
  t.equal(await applyObject(kube, appDeployment({ ...base, exclusive: true })), 'updated');
  for (const [memory, cpu] of [
    ['1.5Gi', '0.3'],
    ['100M', '1m'],
    ['1025Ki', '3m'],
    ['1024Mi', '1.5'],
    ['4Mi', '2000m'],
  ] as const) {
    const limited = appDeployment({ ...base, exclusive: true, spec: { ...base.spec, memory, cpu } });
    t.equal(await applyObject(kube, limited), 'updated', `${memory} ${cpu}`);
    t.equal(await applyObject(kube, limited), 'unchanged', `${memory} ${cpu} again`);
  }
  t.equal(await applyObject(kube, appDeployment(base)), 'updated', 'and back');
  t.equal(await applyObject(kube, appDeployment(base)), 'unchanged');
});
