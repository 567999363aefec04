import t from 'tap';
import type { KubeObject } from '../../../runtime/contracts/kubernetes.ts';
import type { App } from '../../../runtime/contracts/resources/app.ts';
import { kinds } from '../../../runtime/contracts/resources/kinds.ts';
import { newId } from '../../../runtime/domain/ids.ts';
import { workloadLabels } from '../../../runtime/domain/labels.ts';
import {
  ensureEnvironmentSecret,
  environmentSecrets,
  withEnvironmentSecret,
} from '../../../runtime/workloads/environment.ts';
import { collectEnvironments } from '../../../workers/controllers/app-environments.ts';
import { fakeKube } from '../../support/fake-kube.ts';

const namespace = 'shop-prod';
const ref = { ...kinds.App, namespace, name: 'api' };

async function setUp() {
  const kube = fakeKube();
  const labels = workloadLabels({ kind: 'App', name: 'api', id: newId() });
  await kube.create<App>({
    apiVersion: 'platform.svc/v1',
    kind: 'App',
    metadata: { name: 'api', namespace, labels },
    spec: { image: 'r/api:1', port: 8080, replicas: 1 },
  });
  const app = async () => {
    const current = await kube.get<App>(kinds.App, 'api', namespace);
    if (!current) throw new Error('no app');
    return current;
  };
  const nameOf = (value: string) => `app-api-env-${value}`;
  /** The first half of the rollout step. */
  const prepare = async (generation: number, value: string) =>
    ensureEnvironmentSecret(kube, await app(), { name: nameOf(value), variables: [{ name: 'A', value }] }, generation);
  /** The second half. */
  const apply = async (generation: number, value: string | undefined) => {
    const live = await app();
    const release = { generation, deploymentId: newId(), image: 'r/api:1' };
    await kube.replace<App>({
      ...live,
      metadata: {
        ...live.metadata,
        ...(value !== undefined && { annotations: withEnvironmentSecret(live, nameOf(value)) }),
      },
      spec: { ...live.spec, release: { ...release, ...(value !== undefined && { envSecret: nameOf(value) }) } },
    });
  };
  const deploy = async (generation: number, value: string) => {
    await prepare(generation, value);
    await apply(generation, value);
  };
  const runs = (kind: 'Pod' | 'ReplicaSet', name: string, value: string): KubeObject => {
    const containers = [{ name: 'app', envFrom: [{ secretRef: { name: nameOf(value) } }] }];
    const { apiVersion } = kinds[kind];
    const spec = kind === 'Pod' ? { containers } : { template: { spec: { containers } } };
    const object: KubeObject & { spec: object } = { apiVersion, kind, metadata: { name, namespace, labels }, spec };
    return object;
  };
  const collect = async (...needed: string[]) => collectEnvironments(kube, await app(), async () => needed.map(nameOf));
  const secretSuffixes = () => kube.all(kinds.Secret).map(({ metadata }) => metadata.name.replace('app-api-env-', ''));
  const noted = async () => environmentSecrets(await app()).map((name) => name.replace('app-api-env-', ''));
  return { kube, app, prepare, apply, deploy, runs, collect, left: secretSuffixes, noted };
}

t.test('unused environment Secrets are deleted, and no others', async (t) => {
  const { kube, deploy, runs, collect, left, noted } = await setUp();
  await deploy(1, 'one');
  await collect();
  t.same(left(), ['one']);
  t.equal(kube.calls.filter(({ kind, verb }) => kind === 'Secret' && verb === 'get').length, 1, 'nothing to look for');
  await deploy(2, 'two');
  await deploy(3, 'three');
  await deploy(4, 'four');
  kube.seed(runs('Pod', 'p', 'one'), runs('ReplicaSet', 'r', 'two'));
  await collect();
  t.same(
    [left(), await noted()],
    [
      ['one', 'two', 'four'],
      ['one', 'two', 'four'],
    ],
  );
  await kube.delete({ ...kinds.Pod, namespace, name: 'p' });
  await kube.delete({ ...kinds.ReplicaSet, namespace, name: 'r' });
  await collect();
  t.same([left(), await noted()], [['four'], ['four']]);
  const calls = kube.calls.length;
  await collect();
  t.equal(kube.calls.length, calls + 1, 'only the app was read');
});

t.test('a Secret that a rollback may need is kept without reading it', async (t) => {
  const { kube, deploy, collect, left, noted } = await setUp();
  await deploy(1, 'one');
  await deploy(2, 'two');
  await deploy(3, 'three');
  await collect('one', 'two');
  t.same(
    [left(), await noted()],
    [
      ['one', 'two', 'three'],
      ['one', 'two', 'three'],
    ],
  );
  t.notOk(kube.calls.some(({ kind, verb }) => verb === 'list' && kind === 'Pod'));
  await collect('one');
  t.same(
    [left().toSorted(), await noted()],
    [
      ['one', 'three'],
      ['one', 'three'],
    ],
  );
});

t.test('an app without variables keeps no Secret', async (t) => {
  const { kube, apply, deploy, collect, left, app } = await setUp();
  await deploy(1, 'one');
  await apply(2, undefined);
  await collect();
  t.same(left(), []);
  t.same((await app()).metadata.annotations ?? {}, {});
  t.equal(kube.calls.filter(({ kind, verb }) => kind === 'Secret' && verb === 'list').length, 0);
});

t.test('a Secret for a release that is not written yet is kept, whenever the rollout runs', async (t) => {
  // Between any two calls of the collector a rollout may run its first half or both halves, or have run the first half
  // before.
  const calls = await (async () => {
    const { kube, deploy, collect } = await setUp();
    await deploy(1, 'one');
    await deploy(2, 'two');
    const before = kube.calls.length;
    await collect();
    return kube.calls.length - before;
  })();
  t.ok(calls >= 6);
  for (const halves of ['first', 'both', 'second'] as const) {
    for (let at = 1; at <= calls; at++) {
      const { kube, prepare, apply, deploy, collect, left } = await setUp();
      await deploy(1, 'one');
      await deploy(2, 'two');
      if (halves === 'second') await prepare(3, 'one');
      let countdown = at;
      kube.intercept = async () => {
        if (--countdown !== 0) return;
        kube.intercept = undefined;
        if (halves !== 'second') await prepare(3, 'one');
        if (halves !== 'first') await apply(3, 'one');
      };
      await collect();
      kube.intercept = undefined;
      if (halves === 'first') {
        await apply(3, 'one').catch(() => undefined);
      }
      t.ok(left().includes('one'), `${halves} before call ${at}`);
    }
  }
});

t.test('a Secret with another owner is neither deleted nor tracked', async (t) => {
  const { kube, app, deploy, collect, left, noted } = await setUp();
  await deploy(1, 'one');
  await deploy(2, 'two');
  await kube.mergePatch(
    { ...kinds.Secret, namespace, name: 'app-api-env-one' },
    { metadata: { labels: { 'app.kubernetes.io/managed-by': null } } },
  );
  await collect();
  t.same(left(), ['one', 'two']);
  t.same(await noted(), ['two']);
  await kube.mergePatch(ref, { metadata: { annotations: { 'platform.svc/environments': 'app-api-env-two,gone' } } });
  await collect();
  t.same(await noted(), ['two']);
  t.equal((await app()).spec.release?.envSecret, 'app-api-env-two');
});
