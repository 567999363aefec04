import t from 'tap';
import type { IngressRoute, Middleware } from '../../../../infra/local/ingress/objects.ts';
import { createRoutes } from '../../../../infra/local/ingress/routes.ts';
import { kinds, type ResourceKind } from '../../../../runtime/contracts/resources/kinds.ts';
import type { KubeObject, Stored } from '../../../../runtime/contracts/kubernetes.ts';
import { systemClock } from '../../../../runtime/domain/clock.ts';
import { createInformers } from '../../../../runtime/kube/informers.ts';
import { fakeKube } from '../../../support/fake-kube.ts';
import { recordingLog } from '../../../support/log.ts';
import type { Test } from './world.ts';

const apiVersion = 'traefik.io/v1alpha1';

function routeOf(name: string, { host = name, middlewares = [] as string[], namespace = 'shop-prod' } = {}) {
  const services = [{ name, port: 80 }];
  const rule = { match: `Host(\`${host}\`)`, services, middlewares: middlewares.map((one) => ({ name: one })) };
  return { apiVersion, kind: 'IngressRoute', metadata: { name, namespace }, spec: { routes: [rule] } };
}

function middlewareOf(name: string, value: string) {
  const spec = { headers: { customResponseHeaders: { [`X-${name}`]: value } } };
  return { apiVersion, kind: 'Middleware', metadata: { name, namespace: 'shop-prod' }, spec };
}

/** Routes over these objects, which record the names of the routes that they build. */
async function createWorld(t: Test, ...objects: KubeObject[]) {
  const kube = fakeKube();
  kube.seed(...objects);
  const recording = recordingLog();
  const { log } = recording;
  const informers = createInformers({ kube, clock: systemClock, log });
  const [routes, middlewares] = [
    informers.of<IngressRoute>(kinds.IngressRoute),
    informers.of<Middleware>(kinds.Middleware),
  ];
  let built: string[] = [];
  const answer = (name: string) => () =>
    Promise.resolve({ status: 200, headers: new Map([['served-by', [name]]]), body: undefined } as never);
  const table = createRoutes({
    routes,
    middlewares,
    entryPoints: ['web'],
    observe(route) {
      built.push(route.metadata.name);
      return answer(route.metadata.name);
    },
    upstream: (_, { name }) => answer(name),
    addressUpstream: (_, { name }) => answer(name),
    log,
  });
  informers.start();
  await informers.whenSynced();
  table.start();
  t.teardown(async () => {
    table.stop();
    await informers.stop();
  });

  const seen = (kind: ResourceKind, accepts: (objects: Stored<KubeObject>[]) => boolean) =>
    new Promise<void>((resolve) => {
      const informer = informers.of(kind);
      const check = () => {
        if (!accepts(informer.list())) return;
        end();
        resolve();
      };
      const end = informer.onChange(check);
      check();
    });
  return {
    faults: () => recording.entries.flatMap((entry) => (entry['msg'] === 'route refused' ? [entry['fault']] : [])),
    async put(kind: ResourceKind, object: KubeObject) {
      const { name, namespace } = object.metadata;
      const live = await kube.get(kind, name, namespace);
      const { metadata } = live
        ? await kube.replace({ ...object, metadata: live.metadata })
        : await kube.create(object);
      await seen(kind, (all) => all.some((one) => one.metadata.resourceVersion === metadata.resourceVersion));
    },
    async remove(kind: ResourceKind, { metadata: { name, namespace = '' } }: KubeObject) {
      await kube.delete({ apiVersion: kind.apiVersion, kind: kind.kind, name, namespace });
      await seen(kind, (all) => all.every(({ metadata }) => metadata.name !== name));
    },
    /** The route that answers a host's requests, and what its Middlewares add; else the status. */
    async ask(host: string) {
      const { status, headers } = await table.find(host)({ headers: new Map() } as never);
      return status === 200 ? [...headers.values()].flat().join(' ') : status;
    },
    /** The routes that were built since the last call. */
    built() {
      const names = built.toSorted();
      built = [];
      return names;
    },
  };
}

t.test('a change builds the routes that it concerns, and no others', async (t) => {
  const world = await createWorld(
    t,
    ...['a', 'b', 'plain'].map((name) =>
      routeOf(name, { middlewares: name === 'plain' ? [] : ['common', `own-${name}`] }),
    ),
    ...[middlewareOf('common', 'common'), middlewareOf('own-a', '1'), middlewareOf('own-b', '1')],
  );
  t.equal(await world.ask('a'), 'a 1 common');
  t.equal(await world.ask('plain'), 'plain');
  t.same(world.built(), ['a', 'b', 'plain']);

  await world.put(kinds.IngressRoute, routeOf('plain', { host: 'other' }));
  t.equal(await world.ask('plain'), 404);
  t.equal(await world.ask('other'), 'plain');
  t.same(world.built(), ['plain'], 'a changed route');

  await world.put(kinds.Middleware, middlewareOf('own-a', '2'));
  t.equal(await world.ask('a'), 'a 2 common');
  t.same(world.built(), ['a'], 'a changed Middleware');
  await world.put(kinds.Middleware, middlewareOf('common', 'more'));
  t.equal(await world.ask('b'), 'b 1 more');
  t.same(world.built(), ['a', 'b'], 'a Middleware of two routes');

  await world.put(kinds.IngressRoute, routeOf('c'));
  t.equal(await world.ask('c'), 'c');
  await world.remove(kinds.IngressRoute, routeOf('a'));
  t.equal(await world.ask('a'), 404);
  t.equal(await world.ask('b'), 'b 1 more');
  t.same(world.built(), ['c'], 'a new route, and a deleted one');
});

t.test('a route waits for each of its Middlewares, and is refused again without one', async (t) => {
  const world = await createWorld(t, routeOf('a', { middlewares: ['first', 'second'] }), routeOf('b'));
  t.equal(await world.ask('a'), 404);
  await world.put(kinds.Middleware, middlewareOf('second', '2'));
  t.equal(await world.ask('a'), 404);
  await world.put(kinds.Middleware, middlewareOf('first', '1'));
  t.equal(await world.ask('a'), 'a 2 1', 'the first is the outer one');
  world.built();
  await world.remove(kinds.Middleware, middlewareOf('second', '2'));
  t.equal(await world.ask('a'), 404);
  t.equal(await world.ask('b'), 'b');
  t.notOk(world.built().includes('b'));
  t.same(world.faults(), ['the Middleware first does not exist', 'the Middleware second does not exist']);
});

t.test('of two routes with one host, the older one answers, also after a change of it', async (t) => {
  const world = await createWorld(t, routeOf('old', { host: 'shared' }));
  t.equal(await world.ask('shared'), 'old');
  await world.put(kinds.IngressRoute, routeOf('attacker', { host: 'shared', namespace: 'another' }));
  t.equal(await world.ask('shared'), 'old');
  await world.put(kinds.IngressRoute, routeOf('old', { host: 'shared', middlewares: ['missing'] }));
  t.equal(await world.ask('shared'), 404, 'refused, and not served by another');
  await world.put(kinds.IngressRoute, routeOf('old', { host: 'shared' }));
  t.equal(await world.ask('shared'), 'old');
  await world.remove(kinds.IngressRoute, routeOf('old'));
  t.equal(await world.ask('shared'), 'attacker');
});
