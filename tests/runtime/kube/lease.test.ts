import t from 'tap';
import type { KubeObject } from '../../../runtime/contracts/kubernetes.ts';
import { kinds } from '../../../runtime/contracts/resources/kinds.ts';
import { systemClock } from '../../../runtime/domain/clock.ts';
import { KubeError } from '../../../runtime/kube/kube-client.ts';
import { createLease, type LeaderLease, type LeaseOptions } from '../../../runtime/kube/lease.ts';
import { fakeClock, settle, type FakeClock } from '../../support/clock.ts';
import { fakeKube, type FakeKube } from '../../support/fake-kube.ts';
import { noCluster, testCluster } from '../../support/kubernetes.ts';
import { silentLog } from '../../support/log.ts';

interface Candidate {
  lease: LeaderLease;
  events: string[];
}

interface StoredLease extends KubeObject {
  spec: { holderIdentity: string; leaseTransitions: number; renewTime: string };
}

function candidate(kube: LeaseOptions['kube'], clock: FakeClock, identity: string): Candidate {
  const events: string[] = [];
  const lease = createLease({
    kube,
    clock,
    identity,
    namespace: 'svc-system',
    name: 'leader',
    log: silentLog,
    onElected: () => events.push('elected'),
    onLost: async () => void events.push('lost'),
  });
  return { lease, events };
}

const specOf = async (kube: FakeKube) => (await kube.get<StoredLease>(kinds.Lease, 'leader', 'svc-system'))?.spec;

t.test('one of two candidates leads, and keeps leading while it renews', async (t) => {
  const [kube, clock] = [fakeKube(), fakeClock()];
  const [a, b] = [candidate(kube, clock, 'a'), candidate(kube, clock, 'b')];
  a.lease.start();
  b.lease.start();
  await clock.advance(120_000);
  t.same([...a.events, ...b.events], ['elected']);
  t.equal(Number(a.lease.isLeader()) + Number(b.lease.isLeader()), 1);
  t.match(await specOf(kube), { renewTime: /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/, leaseTransitions: 0 });
  await a.lease.stop();
  await b.lease.stop();
});

t.test('a leader that stops releases the lease, and the next one leads within seconds', async (t) => {
  const [kube, clock] = [fakeKube(), fakeClock()];
  const [a, b] = [candidate(kube, clock, 'a'), candidate(kube, clock, 'b')];
  a.lease.start();
  await settle();
  b.lease.start();
  await clock.advance(10_000);
  await a.lease.stop();
  t.same(a.events, ['elected'], 'stopping is not losing');
  await clock.advance(2_500);
  t.same(b.events, ['elected']);
  t.match(await specOf(kube), { holderIdentity: 'b', leaseTransitions: 1 });
  await b.lease.stop();
});

t.test('a leader that was killed is replaced when the lease has expired, not before', async (t) => {
  const [kube, clock] = [fakeKube(), fakeClock()];
  let isKilled = false;
  const request = <T>(send: () => Promise<T>) => (isKilled ? Promise.reject(new Error('killed')) : send());
  const a = candidate(
    {
      get: (...of) => request(() => kube.get(...of)),
      create: (...of) => request(() => kube.create(...of)),
      replace: (...of) => request(() => kube.replace(...of)),
    },
    clock,
    'a',
  );
  const b = candidate(kube, clock, 'b');
  a.lease.start();
  await clock.advance(5_000);
  isKilled = true;
  b.lease.start();
  await clock.advance(14_000);
  t.same(b.events, []);
  await clock.advance(4_000);
  t.same(b.events, ['elected']);
  t.match(await specOf(kube), { holderIdentity: 'b' });
  await Promise.all([a.lease.stop(), b.lease.stop()]);
  t.match(await specOf(kube), { holderIdentity: '' });
});

t.test('a leader that cannot renew stops leading before another can lead', async (t) => {
  const [kube, clock] = [fakeKube(), fakeClock()];
  const a = candidate(kube, clock, 'a');
  a.lease.start();
  await clock.advance(5_000);
  t.ok(a.lease.isLeader());
  kube.intercept = () => {
    throw new KubeError(503, 'ServiceUnavailable', 'etcd is down');
  };
  await clock.advance(7_000);
  t.ok(a.lease.isLeader(), 'a short outage is survived');
  await clock.advance(4_000);
  t.notOk(a.lease.isLeader());
  await clock.advance(1_000);
  t.same(a.events, ['elected', 'lost']);
  kube.intercept = undefined;
  await clock.advance(3_000);
  t.same(a.events, ['elected', 'lost', 'elected'], 'it competes again, and need not wait for its own Lease to expire');
  t.ok(a.lease.isLeader());
  t.match(await specOf(kube), { holderIdentity: 'a', leaseTransitions: 1 });
  await a.lease.stop();
});

t.test('a renewal that is never answered does not keep a leader', async (t) => {
  const [kube, clock] = [fakeKube(), fakeClock()];
  const a = candidate(kube, clock, 'a');
  a.lease.start();
  await clock.advance(3_000);
  kube.intercept = () => new Promise(() => undefined);
  await clock.advance(11_000);
  t.notOk(a.lease.isLeader());
  t.same(a.events, ['elected', 'lost']);
});

t.test('a process that was suspended past its lease notices before it does anything', async (t) => {
  const kube = fakeKube();
  const clock = fakeClock();
  // The clock continued while the process slept, so its next look sees the whole time.
  let suspendedMs = 0;
  const suspending: FakeClock = { ...clock, monotonic: () => clock.monotonic() + suspendedMs };
  const a = candidate(kube, suspending, 'a');
  a.lease.start();
  await clock.advance(3_000);
  t.ok(a.lease.isLeader());
  suspendedMs = 20_000;
  t.notOk(a.lease.isLeader());
  await clock.advance(2_000);
  t.same(a.events, ['elected', 'lost', 'elected']);
  t.match(await specOf(kube), { holderIdentity: 'a', leaseTransitions: 1 });
});

t.test('a lease that another process took is lost at once', async (t) => {
  const [kube, clock] = [fakeKube(), fakeClock()];
  const a = candidate(kube, clock, 'a');
  a.lease.start();
  await clock.advance(1_000);
  const live = await kube.get<StoredLease>(kinds.Lease, 'leader', 'svc-system');
  if (live) await kube.replace({ ...live, spec: { ...live.spec, holderIdentity: 'thief' } });
  await clock.advance(2_000);
  t.same(a.events, ['elected', 'lost']);
  await a.lease.stop();
  t.match(await specOf(kube), { holderIdentity: 'thief' });
});

t.test('the lease passes from one holder to the next on the real API server', { skip: noCluster }, async (t) => {
  const { kube, namespace } = await testCluster(t);
  const stand = (identity: string) => {
    const elected = Promise.withResolvers<void>();
    const lease = createLease({
      kube,
      namespace,
      identity,
      name: 'leader',
      clock: systemClock,
      log: silentLog,
      onElected: () => elected.resolve(),
      onLost: async () => elected.reject(new Error(`${identity} lost the lease`)),
    });
    t.teardown(() => lease.stop());
    lease.start();
    return { lease, elected: elected.promise };
  };
  const a = stand('a');
  await a.elected;
  const b = stand('b');
  t.notOk(b.lease.isLeader());
  await a.lease.stop();
  await b.elected;
  t.notOk(a.lease.isLeader());
  t.ok(b.lease.isLeader());
  const live = await kube.get<StoredLease>(kinds.Lease, 'leader', namespace);
  t.match(live?.spec, { holderIdentity: 'b', leaseTransitions: 1, renewTime: /\.\d{6}Z$/ });
});
