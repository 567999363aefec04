import t, { type Test } from 'tap';
import type { KubeObject, Stored } from '../../../runtime/contracts/kubernetes.ts';
import { kinds } from '../../../runtime/contracts/resources/kinds.ts';
import { apiVersion } from '../../../runtime/domain/labels.ts';
import type { KubeClient } from '../../../runtime/kube/kube-client.ts';
import { goldenObjects, goldenReleases } from '../../golden/golden.ts';
import { recordObjects } from '../../golden/recording.ts';
import { ground, killedPod, settleCluster } from '../../golden/story.ts';
import { everyController } from '../../support/every-controller.ts';
import type { FakeKube } from '../../support/fake-kube.ts';
import { noCluster, testCluster } from '../../support/kubernetes.ts';

const nameOf = ({ kind, metadata }: KubeObject) => `${kind} ${metadata.namespace ?? ''}/${metadata.name}`;
const passing = new Set(['Event', 'Lease']);

interface Additions {
  writes: readonly string[];
  events: readonly string[];
  /** Objects with later times in their status. */
  since: readonly string[];
}

/** Middlewares that had the names of apps. */
const replaced = ['shop-prod/api-gate', 'shop-prod/api-gate-strip'];

/** What the current controllers add to the objects of a release. A gate whose route changes must be proven again. */
const additions: Readonly<Record<string, Additions>> = {
  '0.1.0': {
    writes: [
      'create Middleware shop-prod/gate-019a0000-0000-7000-8000-000000000020',
      'create Middleware shop-prod/svc-gate-strip',
      'create Middleware shop-prod/svc-retry',
      'create Middleware shop-prod/svc-strip',
      'create Middleware shop-prod/svc-strip-key',
      'create Middleware svc-system/svc-retry',
      'create Middleware svc-system/svc-strip',
      'create Middleware svc-system/svc-strip-key',
      'create NetworkPolicy shop-prod/svc-environment-functions',
      'create NetworkPolicy shop-prod/svc-environment-services',
      'create NetworkPolicy shop-test/svc-environment-functions',
      'create NetworkPolicy shop-test/svc-environment-services',
      'create PodDisruptionBudget shop-prod/site',
      'create RoleBinding shop-prod/svc-console-api',
      'create RoleBinding shop-prod/svc-controllers',
      'create RoleBinding shop-prod/svc-interceptor',
      'create RoleBinding shop-prod/svc-workers',
      'create RoleBinding shop-test/svc-console-api',
      'create RoleBinding shop-test/svc-controllers',
      'create RoleBinding shop-test/svc-interceptor',
      'create RoleBinding shop-test/svc-workers',
      'create ServersTransport shop-prod/svc-pods',
      'create ServersTransport svc-system/svc-pods',
      ...replaced.map((middleware) => `delete Middleware ${middleware}`),
      'replace IngressRoute shop-prod/api',
      'replace IngressRoute shop-prod/site',
      'replace IngressRoute svc-system/fn-019a0000-0000-7000-8000-000000000030',
      'replace IngressRoute svc-system/fn-019a0000-0000-7000-8000-000000000031',
      'replace NetworkPolicy shop-prod/svc-environment',
      'replace NetworkPolicy shop-test/svc-environment',
    ],
    events: ['GateApplied shop-prod/api'],
    since: ['platform.svc/v1 App shop-prod/api'],
  },
};
const noChanges = { writes: [], events: [], since: [] };

/** Every object, by kind and name. */
function everything(kube: FakeKube): Map<string, Stored<KubeObject>> {
  const objects = Object.values(kinds).flatMap((kind) => kube.all(kind));
  // The group `batch` has Jobs too.
  return new Map(objects.map((object) => [`${object.apiVersion} ${nameOf(object)}`, object]));
}

/** The fields that replace a pod or a disk when one byte differs. */
function vitalPart({ apiVersion: version, kind, spec }: KubeObject): unknown {
  if (version === 'v1' && kind === 'PersistentVolumeClaim') return spec;
  if (version === 'apps/v1') return (spec as { template: unknown }).template;
  if (version === 'batch/v1') return spec;
  return undefined;
}

/** A status without some of its fields. */
function without(fields: readonly string[], status: unknown): unknown {
  return JSON.parse(JSON.stringify(status, (key, value: unknown) => (fields.includes(key) ? undefined : value)));
}

/** Messages are for people, and a release may word them better. */
const words = ['message'];
const wordsAndTimes = [...words, 'gateSince', 'lastTransitionTime'];

/**
 * The objects with the fields that a real API server fills in: each is created in the namespace under another name and
 * read back.
 */
async function asStored(
  kube: KubeClient,
  namespace: string,
  objects: readonly Stored<KubeObject>[],
): Promise<Stored<KubeObject>[]> {
  const stored: Stored<KubeObject>[] = [];
  for (const [index, object] of objects.entries()) {
    const { apiVersion: version, kind, metadata } = object;
    // A quota would refuse the objects after it.
    const isPlatformObject = version === apiVersion || kind === 'Namespace' || kind === 'ResourceQuota';
    const place = { name: `older-${index}`, namespace, labels: metadata.labels ?? {} };
    const {
      metadata: _,
      status: __,
      ...rest
    } = isPlatformObject ? object : await kube.create({ ...object, metadata: place });
    stored.push({ ...object, ...rest, metadata });
  }
  return stored;
}

/** Runs the current controllers on the objects, and checks the result. */
async function takeOver(t: Test, older: readonly Stored<KubeObject>[], added = noChanges as Additions): Promise<void> {
  const { clock, kube, manager } = everyController({ start: new Date('2026-01-02T00:00:00Z') });
  const brought = ground.filter(({ kind, metadata }) => kind === 'StorageClass' || metadata.name === 'svc-system');
  kube.seed(...brought, ...older, killedPod);
  const before = everything(kube);
  t.teardown(() => manager.stop());
  manager.start();
  for (let second = 0; second < 60; second++) {
    await clock.advance(1_000);
    await settleCluster(kube);
  }
  await clock.advance(90 * 60_000);
  const after = everything(kube);

  await t.test('no pod is restarted and no object created again without need', async (t) => {
    for (const [name, object] of before) {
      if (replaced.some((middleware) => name.endsWith(` Middleware ${middleware}`))) continue;
      const now = after.get(name);
      t.equal(now?.metadata.uid, object.metadata.uid, `${name} is the same object`);
      if (now && vitalPart(object) !== undefined) {
        t.equal(JSON.stringify(vitalPart(now)), JSON.stringify(vitalPart(object)), `${name} is not rolled out`);
        t.equal(now.metadata.generation, object.metadata.generation, `${name} is not written`);
      }
    }
  });

  await t.test('every workload has the same state, without conflicts', async (t) => {
    const phases = (objects: Map<string, Stored<KubeObject>>) =>
      [...objects.values()]
        .filter((object) => object.apiVersion === apiVersion)
        .map((object) => [nameOf(object), (object.status as { phase?: string } | undefined)?.phase]);
    t.same(phases(after), phases(before));
    t.same(
      kube
        .all<KubeObject & { reason: string; involvedObject: { namespace: string; name: string } }>(kinds.Event)
        .map(({ reason, involvedObject: { namespace, name } }) => `${reason} ${namespace}/${name}`),
      added.events,
    );
    const specs = (objects: Map<string, Stored<KubeObject>>) =>
      [...objects.values()].filter((object) => object.apiVersion === apiVersion).map(({ spec }) => spec);
    t.same(specs(after), specs(before));
  });

  await t.test('only fields that controllers report today are written, and no reported field is lost', async (t) => {
    const harmless = new Set(['get', 'list', 'replaceStatus']);
    const writes = kube.calls.filter(({ verb, kind }) => !harmless.has(verb) && !passing.has(kind));
    // Two reconciles may create a shared Middleware at once; one of them is refused.
    const each = new Set(writes.map(({ verb, kind, namespace, name }) => `${verb} ${kind} ${namespace}/${name}`));
    t.same([...each].sort(), added.writes);
    for (const [name, { apiVersion: version, status }] of before) {
      if (version !== apiVersion || status === undefined) continue;
      t.match(after.get(name)?.status, without(added.since.includes(name) ? wordsAndTimes : words, status), name);
    }
  });
}

await t.test('objects of the current controllers are taken over', async (t) => takeOver(t, await recordObjects()));

for (const release of goldenReleases()) {
  await t.test(`the objects of release ${release} are taken over`, (t) =>
    takeOver(t, goldenObjects(release), additions[release]),
  );

  await t.test(
    `the objects of release ${release} are taken over as a real API server stores them`,
    { skip: noCluster },
    async (t) => {
      const { kube, namespace } = await testCluster(t);
      const stored = await asStored(kube, namespace, goldenObjects(release));
      const deployment = stored.find(({ kind }) => kind === 'Deployment');
      t.match(deployment?.spec, { template: { spec: { restartPolicy: 'Always' } } }, 'the API server has filled it in');
      await takeOver(t, stored, additions[release]);
    },
  );
}
