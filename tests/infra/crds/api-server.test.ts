import { randomBytes } from 'node:crypto';
import t from 'tap';
import { customResourceDefinitions } from '../../../infra/crds/custom-resources.ts';
import { waitUntilEstablished } from '../../../infra/install/readiness.ts';
import type { KubeObject, Stored } from '../../../runtime/contracts/kubernetes.ts';
import type { App } from '../../../runtime/contracts/resources/app.ts';
import type { JobStatus } from '../../../runtime/contracts/resources/job.ts';
import { kinds } from '../../../runtime/contracts/resources/kinds.ts';
import { systemClock } from '../../../runtime/domain/clock.ts';
import { newId } from '../../../runtime/domain/ids.ts';
import { applyObject } from '../../../runtime/kube/children.ts';
import { resourceOf } from '../../../runtime/kube/resource-paths.ts';
import { goldenObjects, goldenReleases } from '../../golden/golden.ts';
import { noCluster, testCluster } from '../../support/kubernetes.ts';

const apiVersion = 'platform.svc/v1';
const unique = (prefix: string) => `${prefix}${randomBytes(3).toString('hex')}`;
const image = 'registry.example.com/shop/api:1';
const refused = { name: 'KubeError', status: 422 };

t.test('the API server accepts the CRDs and validates with them', { skip: noCluster }, async (t) => {
  const { kube, namespace } = await testCluster(t);
  for (const definition of customResourceDefinitions) await applyObject(kube, definition);
  const names = customResourceDefinitions.map(({ metadata }) => metadata.name);
  const deadline = systemClock.monotonic() + 30_000;
  await waitUntilEstablished(names, { kube, clock: systemClock, deadline, log: () => undefined });

  // The API server serves a new kind a moment after it reports it as established.
  const create = async <T extends KubeObject>(object: T): Promise<Stored<T>> => {
    for (;;) {
      try {
        return await kube.create(object);
      } catch (error) {
        if ((error as { status?: number }).status !== 404) throw error;
        await systemClock.sleep(100);
      }
    }
  };
  const cleanUp = (kind: string, name: string) =>
    t.teardown(() => kube.delete({ apiVersion, kind, name }).catch(() => undefined));
  const app = (name: string, spec: object) =>
    create({ apiVersion, kind: 'App', metadata: { name, namespace }, spec }) as Promise<Stored<App>>;
  // A patch without a version, since controllers may be changing the same object.
  const patchRelease = (name: string, release: object | null) =>
    kube.mergePatch<App>({ apiVersion, kind: 'App', namespace, name }, { spec: { release } });

  await t.test('applying again writes nothing', async (t) => {
    for (const definition of customResourceDefinitions) {
      t.equal(await applyObject(kube, definition), 'unchanged', definition.metadata.name);
    }
  });

  await t.test('defaults are filled in, and values out of range are refused', async (t) => {
    const created = await app('api', { image });
    t.match(created.spec, { image, port: 8080, replicas: 1 });
    for (const spec of [
      { image, port: 0 },
      { image, port: 65_536 },
      { image, replicas: 51 },
      { image, healthPath: 'x' },
      { image, runStops: ['../other'] },
      {},
    ]) {
      await t.rejects(app('other', spec), refused, JSON.stringify(spec));
    }
    for (const name of ['a--b', `a${'b'.repeat(40)}`, '1a']) await t.rejects(app(name, { image }), refused);
  });

  await t.test('a release generation cannot decrease, and belongs to one deployment', async (t) => {
    const name = 'released';
    await app(name, { image });
    const release = { generation: 2, deploymentId: newId(), image };
    await patchRelease(name, release);
    await t.rejects(patchRelease(name, { generation: 1 }), { ...refused, message: /cannot decrease/ });
    await t.rejects(patchRelease(name, null), { ...refused, message: /cannot decrease/ });
    await t.rejects(patchRelease(name, { deploymentId: newId() }), {
      ...refused,
      message: /cannot change without release.generation/,
    });
    const third = await patchRelease(name, { generation: 3, deploymentId: newId() });
    t.equal(third.spec.release?.generation, 3);
  });

  await t.test('spec and status are written separately, and no field of the status is pruned', async (t) => {
    const created = await app('reported', { image });
    const status: App['status'] = {
      observedGeneration: 1,
      phase: 'running',
      host: 'x.example.com',
      url: 'https://x.example.com',
      replicas: 1,
      readyReplicas: 1,
      gate: 'gated',
      gateSince: new Date().toISOString(),
      release: { generation: 1, deploymentId: newId(), phase: 'available' },
      conditions: [
        { type: 'Ready', status: 'True', reason: 'Ok', message: '', lastTransitionTime: new Date().toISOString() },
      ],
    };
    const report = async (live: Stored<App>): Promise<Stored<App>> => {
      try {
        return await kube.replaceStatus<App>({ ...live, spec: { ...live.spec, port: 1 }, status });
      } catch (error) {
        if ((error as { status?: number }).status !== 409) throw error;
        return report((await kube.get<App>(kinds.App, 'reported', namespace)) ?? live);
      }
    };
    const written = await report(created);
    t.same(written.status, status);
    t.equal(written.spec.port, 8080);
  });

  await t.test('claims cannot be changed', async (t) => {
    const spec = { kind: 'App', workloadId: newId() };
    const claim = await create({ apiVersion, kind: 'WorkloadName', metadata: { name: 'held', namespace }, spec });
    await t.rejects(kube.replace({ ...claim, spec: { kind: 'App', workloadId: newId() } }), {
      ...refused,
      message: /cannot be changed/,
    });
    const name = `${unique('h')}.example.com`;
    cleanUp('HostName', name);
    const host = await create({
      apiVersion,
      kind: 'HostName',
      metadata: { name },
      spec: { kind: 'App', namespace, name: 'held', workloadId: newId() },
    });
    await t.rejects(kube.replace({ ...host, spec: { ...(host.spec as object), name: 'other' } }), refused);
  });

  await t.test('projects follow the rules of names, and environments keep their ids', async (t) => {
    const project = (name: string, environments: object[]) => {
      cleanUp('Project', name);
      return create({ apiVersion, kind: 'Project', metadata: { name }, spec: { environments } });
    };
    await t.rejects(project('kube', [{ name: 'system', id: newId() }]), { ...refused, message: /are reserved/ });
    await t.rejects(project(unique('p'), [{ name: 'with-hyphen', id: newId() }]), refused);
    const twice = { name: 'prod', id: newId() };
    await t.rejects(project(unique('p'), [twice, twice]), refused);
    const { metadata } = await project(unique('p'), [{ name: 'prod', id: newId() }]);
    const changed = { spec: { environments: [{ name: 'prod', id: newId() }] } };
    await t.rejects(kube.mergePatch({ apiVersion, kind: 'Project', name: metadata.name }, changed), {
      ...refused,
      message: /cannot be changed/,
    });
  });

  await t.test('a function has a schedule with the trigger cron, and events with http or as its trigger', async (t) => {
    const createObject = (name: string, spec: object) =>
      create<KubeObject>({ apiVersion, kind: 'Function', metadata: { name, namespace }, spec });
    const base = { runtime: 'node', code: 'x' };
    const runRequest = { id: '00c0ffee00', at: new Date().toISOString() };
    const cron = { ...base, trigger: 'cron', schedule: '0 0 1 1 *' };
    t.match((await createObject('nightly', cron)).spec, cron);
    t.notHas((await createObject('hello', base)).spec, 'schedule');
    const events = { type: 'postgres', source: 'db', query: 'SELECT * FROM orders' };
    t.match((await createObject('orders', { ...base, trigger: 'postgres', events })).spec, {
      trigger: 'postgres',
      events,
    });
    t.match((await createObject('both', { ...base, events })).spec, { trigger: 'http', events });
    for (const spec of [
      { ...base, trigger: 'cron' },
      { ...base, schedule: '0 0 1 1 *' },
      { ...base, image },
      { runtime: 'node', image },
      { runtime: 'node' },
      { code: 'x' },
      {},
      { ...cron, trigger: 'postgres' },
      { ...cron, events },
      { ...base, trigger: 'postgres' },
      { ...base, trigger: 'redis', events },
      { ...base, events: { ...events, type: 'kafka' } },
      { ...cron, overlap: 'Never' },
      { ...cron, runRequests: [{ ...runRequest, id: '29384750' }] },
      { ...cron, runRequests: [runRequest, runRequest] },
    ]) {
      await t.rejects(createObject('other', spec), refused, JSON.stringify(spec));
    }
    const ref = { apiVersion, kind: 'Function', namespace };
    await t.rejects(kube.mergePatch({ ...ref, name: 'nightly' }, { spec: { trigger: 'http' } }), refused);
    await t.rejects(kube.mergePatch({ ...ref, name: 'hello' }, { spec: { trigger: 'cron' } }), refused);
  });

  await t.test('jobs get their defaults; run requests have valid names, each once', async (t) => {
    const job = (name: string, spec: object) =>
      create<KubeObject>({ apiVersion, kind: 'Job', metadata: { name, namespace }, spec });
    const created = await job('report', { image, env: [{ name: 'A', value: '' }], schedule: '0 2 * * *' });
    t.match(created.spec, {
      timeZone: 'Etc/UTC',
      overlap: 'Forbid',
      suspended: false,
      retries: 0,
      historyLimit: 5,
      retentionSeconds: 604_800,
    });
    const runRequest = { id: '00c0ffee00', at: new Date().toISOString() };
    for (const spec of [
      { image, runRequests: [{ ...runRequest, id: '29384750' }] },
      { image, runRequests: [runRequest, runRequest] },
      {
        image,
        env: [
          { name: 'A', value: '1' },
          { name: 'A', value: '2' },
        ],
      },
      { image, historyLimit: 0 },
      {},
    ]) {
      await t.rejects(job('other', spec), refused, JSON.stringify(spec));
    }
    const status: JobStatus = {
      observedGeneration: 1,
      phase: 'running',
      active: 1,
      message: 'x',
      conditions: [],
      runs: [{ name: 'report-00c0ffee00', trigger: 'manual', state: 'running', by: 'ada', createdAt: runRequest.at }],
    };
    // Controllers may be changing the same object.
    const report = async (): Promise<unknown> => {
      const live = (await kube.get(kinds.Job, 'report', namespace)) ?? created;
      return kube.replaceStatus({ ...live, status }).then(
        (written) => written.status,
        (error: { status?: number }) => (error.status === 409 ? report() : Promise.reject(error as Error)),
      );
    };
    t.same(await report(), status);
  });

  await t.test('a volume cannot shrink or change its class', async (t) => {
    const volume = (name: string, spec: object) =>
      create<KubeObject>({ apiVersion, kind: 'Volume', metadata: { name, namespace }, spec });
    await volume('data', { size: '1Gi' });
    const change = (spec: object) => kube.mergePatch({ apiVersion, kind: 'Volume', namespace, name: 'data' }, { spec });
    await t.rejects(change({ size: '1000Mi' }), { ...refused, message: /cannot shrink/ });
    await t.rejects(change({ storageClass: 'fast' }), { ...refused, message: /storageClass cannot be changed/ });
    await t.rejects(change({ accessMode: 'ReadWriteMany' }), { ...refused, message: /accessMode cannot be changed/ });
    t.match((await change({ size: '1.5Gi' })).spec, { size: '1.5Gi', accessMode: 'ReadWriteOnce' });
    for (const size of ['big', '-1Gi', '']) await t.rejects(volume('other', { size }), refused, size);
  });

  await t.test('a service keeps its type and its mode', async (t) => {
    const service = (name: string, spec: object) =>
      create<KubeObject>({ apiVersion, kind: 'Service', metadata: { name, namespace }, spec });
    const created = await service('orders', { type: 'postgres', external: { host: 'db.example.com' } });
    t.same(created.spec, { type: 'postgres', external: { host: 'db.example.com', tls: false } });
    const change = (spec: object) =>
      kube.mergePatch({ apiVersion, kind: 'Service', namespace, name: 'orders' }, { spec });
    await t.rejects(change({ type: 'mysql' }), { ...refused, message: /type cannot be changed/ });
    await t.rejects(change({ external: null }), { ...refused, message: /cannot become an external one/ });
    await t.rejects(change({ storage: { size: '1Gi' } }), {
      ...refused,
      message: /an external service cannot have storage/,
    });
    t.match((await change({ external: { host: 'db2.example.com', port: 5433 } })).spec, { external: { port: 5433 } });
    for (const spec of [
      {},
      { type: 'oracle' },
      { type: 'redis', external: {} },
      { type: 'redis', external: { host: 'r', port: 0 } },
    ]) {
      await t.rejects(service('other', spec), refused, JSON.stringify(spec));
    }
    await t.rejects(service('a--b', { type: 'redis' }), refused);
    await service('cache', { type: 'redis', storage: { size: '1Gi' } });
    const grow = { spec: { storage: { size: '2Gi' } } };
    const grownService = kube.mergePatch({ apiVersion, kind: 'Service', namespace, name: 'cache' }, grow);
    await t.rejects(grownService, { ...refused, message: /storage cannot be changed/ });
  });

  await t.test('a build is never changed, and its source is a repository without credentials', async (t) => {
    const build = (name: string, source: object) =>
      create<KubeObject>({ apiVersion, kind: 'Build', metadata: { name, namespace }, spec: { app: 'api', source } });
    const url = 'https://git.example.com/shop/api.git';
    await build('api-1', { url, commit: '0123abc' });
    await build('api-2', { url: 'ssh://git@git.example.com:2222/shop/api' });
    const patch = { spec: { source: { commit: null } } };
    await t.rejects(kube.mergePatch({ apiVersion, kind: 'Build', namespace, name: 'api-1' }, patch), {
      ...refused,
      message: /cannot be changed/,
    });
    for (const source of [
      {},
      { url: 'https://ada:secret@git.example.com/api' },
      { url: 'ssh://git:secret@git.example.com/api' },
      { url: 'file:///etc' },
      { url: 'ext::sh -c id' },
      { url: '--upload-pack=id' },
      { url: `${url};id` },
      { url: `${url} $(id)` },
      { url: `${url}\n` },
      { url, commit: 'main' },
      { url, commit: '--all' },
    ]) {
      await t.rejects(build('api-3', source), refused, JSON.stringify(source));
    }
    await t.rejects(build('a'.repeat(64), { url }), refused);
  });

  for (const release of goldenReleases()) {
    await t.test(`the objects of release ${release} are accepted: nothing is refused or lost`, async (t) => {
      const platformObjects = goldenObjects(release).filter((object) => object.apiVersion === apiVersion);
      t.ok(platformObjects.length > 10);
      for (const { kind, metadata, spec, status } of platformObjects) {
        // There is one PlatformConfig, and it is the installation's.
        if (kind === kinds.PlatformConfig.kind) continue;
        const name =
          metadata.namespace === undefined ? `${unique('g')}${kind === 'HostName' ? '.test' : ''}` : metadata.name;
        if (metadata.namespace === undefined) cleanUp(kind, name);
        const place = metadata.namespace === undefined ? { name } : { name: unique(`${name}-`), namespace };
        const created = await create<KubeObject>({ apiVersion, kind, metadata: place, spec });
        t.same(created.spec, spec, `${kind} ${metadata.name}`);
        if (status === undefined) continue;
        // Controllers may be changing the same object.
        const report = async (live: Stored<KubeObject>): Promise<unknown> => {
          try {
            return (await kube.replaceStatus({ ...live, status })).status;
          } catch (error) {
            if ((error as { status?: number }).status !== 409) throw error;
            return report((await kube.get(resourceOf(live), place.name, live.metadata.namespace)) ?? live);
          }
        };
        t.same(await report(created), status, `the status of ${kind} ${metadata.name}`);
      }
    });
  }

  await t.test('there is one PlatformConfig', async (t) => {
    const spec = { appsDomain: 'apps.example.com', cluster: 'home', runtimeImages: { node: image } };
    await t.rejects(create({ apiVersion, kind: kinds.PlatformConfig.kind, metadata: { name: 'other' }, spec }), {
      ...refused,
      message: /the only PlatformConfig/,
    });
  });
});
