import t from 'tap';
import type { KubeObject, Stored } from '../../../runtime/contracts/kubernetes.ts';
import type { HostName, WorkloadName } from '../../../runtime/contracts/resources/claims.ts';
import { kinds } from '../../../runtime/contracts/resources/kinds.ts';
import { newId } from '../../../runtime/domain/ids.ts';
import { idLabel, managedLabels } from '../../../runtime/domain/labels.ts';
import {
  claimHost,
  claimHostAhead,
  dropClaim,
  otherHolder,
  releaseHosts,
  releaseName,
  releaseOtherHosts,
  reserveName,
} from '../../../runtime/kube/claims.ts';
import type { KubeClient } from '../../../runtime/kube/kube-client.ts';
import { fakeKube } from '../../support/fake-kube.ts';
import { noCluster, testCluster } from '../../support/kubernetes.ts';
import { ensureCustomResources } from './custom-resources.ts';

function workload(kind: 'App' | 'Function', name: string, namespace = 'shop-prod', id = newId()): Stored<KubeObject> {
  return {
    apiVersion: 'platform.svc/v1',
    kind,
    metadata: { name, namespace, uid: `uid-${id}`, resourceVersion: '1', labels: { [idLabel]: id } },
  };
}

/** Fifty workloads that claim one name and one host; the winner may claim again, and the others get the holder. */
async function race(t: Tap, kube: KubeClient, racers: Stored<KubeObject>[], host: string): Promise<void> {
  const names = await Promise.all(racers.map((racer) => reserveName(kube, racer)));
  const winner = names.indexOf('reserved');
  t.equal(names.filter((result) => result === 'reserved').length, 1);
  for (const [index, result] of names.entries()) {
    if (index !== winner) t.same(result, { holder: racers[winner]?.kind });
  }
  const hosts = await Promise.all(racers.map((racer) => claimHost(kube, racer, host)));
  const holder = racers[hosts.indexOf('claimed')];
  t.equal(hosts.filter((result) => result === 'claimed').length, 1);
  for (const result of hosts.filter((other) => other !== 'claimed')) {
    const { name, namespace } = holder?.metadata ?? {};
    t.same(result, { holder: { kind: holder?.kind, namespace, name } });
  }
  const repeatedWinner = racers[winner];
  if (repeatedWinner) t.equal(await reserveName(kube, repeatedWinner), 'reserved');
  if (holder) t.equal(await claimHost(kube, holder, host), 'claimed');
}

interface Tap {
  equal(actual: unknown, expected: unknown): unknown;
  same(actual: unknown, expected: unknown): unknown;
}

t.test('exactly one of fifty concurrent claims gets the name, and one the host', async (t) => {
  const racers = Array.from({ length: 50 }, (_, index) => workload(index % 2 ? 'Function' : 'App', 'api'));
  await race(t, fakeKube(), racers, 'api.example.com');
});

t.test('the older of two workloads without claims keeps the name', async (t) => {
  const kube = fakeKube();
  const created = (object: Stored<KubeObject>, creationTimestamp: string, more: object = {}): Stored<KubeObject> => ({
    ...object,
    metadata: { ...object.metadata, creationTimestamp, ...more },
  });
  const [first, second] = ['2026-01-01T00:00:00Z', '2026-01-01T00:00:01Z'];
  const [older, younger] = [created(workload('App', 'api'), first), created(workload('Function', 'api'), second)];
  const terminating = created(workload('App', 'old'), first, { deletionTimestamp: second, finalizers: ['x'] });
  const [left, right] = [created(workload('App', 'twin'), first), created(workload('Function', 'twin'), first)];
  kube.seed(older, younger, terminating, left, right);
  t.same(await reserveName(kube, younger), { holder: 'App' });
  t.equal(kube.all(kinds.WorkloadName).length, 0, 'and no other takes it instead');
  t.equal(await reserveName(kube, older), 'reserved');
  t.same(await reserveName(kube, younger), { holder: 'App' });
  t.equal(
    await reserveName(kube, created(workload('Function', 'old'), second)),
    'reserved',
    'one that is being deleted keeps none',
  );
  t.equal(await reserveName(kube, right), 'reserved', 'two of the same second race');
  t.same(await reserveName(kube, left), { holder: 'Function' });
});

t.test('a claim names its workload, and is deleted with it', async (t) => {
  const kube = fakeKube();
  const app = workload('App', 'api');
  const id = app.metadata.labels?.[idLabel];
  await reserveName(kube, app);
  await claimHost(kube, app, 'api.example.com');
  t.match(await kube.get<WorkloadName>(kinds.WorkloadName, 'api', 'shop-prod'), {
    metadata: { labels: managedLabels(), ownerReferences: [{ kind: 'App', name: 'api', uid: app.metadata.uid }] },
    spec: { kind: 'App', workloadId: id },
  });
  const host = await kube.get<HostName>(kinds.HostName, 'api.example.com');
  t.same(host?.spec, { kind: 'App', namespace: 'shop-prod', name: 'api', workloadId: id });
  t.equal(host?.metadata.ownerReferences, undefined, 'a namespaced object cannot own a cluster-scoped one');
});

t.test('a recreated workload of the same name inherits nothing', async (t) => {
  const kube = fakeKube();
  await reserveName(kube, workload('App', 'api'));
  t.same(await reserveName(kube, workload('App', 'api')), { holder: 'App' });
});

t.test('a workload releases only its own claims', async (t) => {
  const kube = fakeKube();
  const [app, other] = [workload('App', 'api'), workload('Function', 'other')];
  const id = app.metadata.labels?.[idLabel] ?? '';
  for (const host of ['old.example.com', 'new.example.com', 'www.example.com']) await claimHost(kube, app, host);
  await claimHost(kube, other, 'other.example.com');
  await reserveName(kube, app);
  t.equal(await releaseOtherHosts(kube, id, ['new.example.com', 'www.example.com'], new Date()), undefined);
  t.same(
    kube
      .all(kinds.HostName)
      .map(({ metadata }) => metadata.name)
      .sort(),
    ['new.example.com', 'other.example.com', 'www.example.com'],
  );
  await releaseName(kube, workload('Function', 'api'));
  t.equal(kube.all(kinds.WorkloadName).length, 1, 'another workload cannot release it');
  await releaseHosts(kube, id);
  await releaseName(kube, app);
  t.same(
    kube.all(kinds.HostName).map(({ metadata }) => metadata.name),
    ['other.example.com'],
  );
  t.equal(kube.all(kinds.WorkloadName).length, 0);
});

t.test('a host that was claimed before the change is kept for a time, or until the spec names it', async (t) => {
  const kube = fakeKube();
  const [app, other] = [workload('App', 'api'), workload('App', 'other')];
  const id = app.metadata.labels?.[idLabel] ?? '';
  const [now, until] = [new Date('2026-01-01T00:00:00Z'), new Date('2026-01-01T00:01:00Z')];
  const hosts = () =>
    kube
      .all(kinds.HostName)
      .map(({ metadata }) => metadata.name)
      .sort();
  const release = (keep: string[], at = now) => releaseOtherHosts(kube, id, keep, at);
  await claimHost(kube, app, 'api.example.com');
  const first = await claimHostAhead(kube, app, 'www.example.com', until);
  t.match(first, { created: { metadata: { name: 'www.example.com' } } });
  t.equal(await claimHostAhead(kube, app, 'www.example.com', until), 'claimed', 'not created by this call');
  t.equal(await claimHostAhead(kube, app, 'api.example.com', until), 'claimed');
  t.match(await claimHostAhead(kube, other, 'www.example.com', until), { holder: { name: 'api' } });
  const otherId = other.metadata.labels?.[idLabel] ?? '';
  t.same(await otherHolder(kube, otherId, 'www.example.com'), { kind: 'App', namespace: 'shop-prod', name: 'api' });
  t.equal(await otherHolder(kube, id, 'www.example.com'), undefined);
  t.equal(await otherHolder(kube, id, 'none.example.com'), undefined);

  t.equal(await release(['api.example.com']), 60_000);
  t.same(hosts(), ['api.example.com', 'www.example.com']);
  t.equal(await release(['api.example.com'], until), undefined, 'a reservation that was never used');
  t.same(hosts(), ['api.example.com']);

  await claimHostAhead(kube, app, 'www.example.com', until);
  t.equal(await claimHost(kube, app, 'www.example.com'), 'claimed');
  t.equal(await release(['api.example.com']), undefined, 'one that the spec named is an ordinary claim');
  t.same(hosts(), ['api.example.com']);

  const claim = await claimHostAhead(kube, app, 'web.example.com', until);
  if (claim !== 'claimed' && 'created' in claim) await dropClaim(kube, claim.created);
  t.same(hosts(), ['api.example.com']);
  await claimHostAhead(kube, app, 'web.example.com', until);
  await releaseHosts(kube, id);
  t.same(hosts(), [], 'the deletion of the workload waits for nothing');
});

t.test('exactly one of fifty concurrent claims succeeds on the real API server', { skip: noCluster }, async (t) => {
  const { kube, namespace } = await testCluster(t);
  await ensureCustomResources(kube);
  // One real object owns every claim, since garbage collection deletes objects without a living owner.
  const metadata = { name: 'api', namespace };
  const app = await kube.create({ apiVersion: 'platform.svc/v1', kind: 'App', metadata, spec: { image: 'x:1' } });
  const host = `${namespace}.example.com`;
  const racers = Array.from({ length: 50 }, () => ({
    ...app,
    metadata: { ...app.metadata, labels: { [idLabel]: newId() } },
  }));
  t.teardown(() => kube.delete({ apiVersion: 'platform.svc/v1', kind: 'HostName', name: host }));
  await race(t, kube, racers, host);
});
