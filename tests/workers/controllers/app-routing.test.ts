import t from 'tap';
import type { KubeObject } from '../../../runtime/contracts/kubernetes.ts';
import { kinds } from '../../../runtime/contracts/resources/kinds.ts';
import { claimHostAhead } from '../../../runtime/kube/claims.ts';
import type { FakeKube } from '../../support/fake-kube.ts';
import { namesOf, setUp, withoutId } from './app-world.ts';

const own = 'api--shop-prod.apps.test';

interface Route extends KubeObject {
  spec: { routes: { match: string; middlewares?: { name: string }[] }[] };
}

interface HeadersMiddleware extends KubeObject {
  spec: { headers: { customResponseHeaders: Record<string, string> } };
}

/** The only rule of the app's route. */
function ruleOf(kube: FakeKube) {
  const route = kube.all<Route>(kinds.IngressRoute).find(({ metadata }) => metadata.name === 'api');
  const [rule, ...special] = route?.spec.routes ?? [];
  if (!rule) throw new Error('no route');
  const { match, middlewares = [] } = rule;
  if (special.some((each) => !each.match.startsWith(`(${match}) && `))) throw new Error('a rule has other hosts');
  return { match, middlewares: middlewares.map(({ name }) => withoutId(name)) };
}

/** An app with a release and nothing left to do. */
async function routed(
  t: Parameters<typeof setUp>[0],
  spec: Parameters<Awaited<ReturnType<typeof setUp>>['create']>[1],
) {
  const world = await setUp(t);
  await world.create('api', spec);
  await world.pass();
  await world.release(1);
  await world.pass();
  return world;
}

t.test('every host is claimed before the route has it, and released after it is removed', async (t) => {
  const { kube, change, pass, order } = await routed(t, { extraHosts: ['example.com', 'www.example.com'] });
  t.equal(ruleOf(kube).match, `Host(\`${own}\`) || Host(\`example.com\`) || Host(\`www.example.com\`)`);
  t.same(namesOf(kube.all(kinds.HostName)), [own, 'example.com', 'www.example.com']);
  order.length = 0;
  await change({ extraHosts: ['new.example.com', 'www.example.com'] });
  const { app } = await pass();
  t.same(order, [
    'create HostName new.example.com',
    'project gated=false',
    'replace IngressRoute api',
    'delete HostName example.com',
  ]);
  t.match(app?.status, { host: own, url: `http://${own}:18080` });
  await change({ extraHosts: [] });
  await pass();
  t.equal(ruleOf(kube).match, `Host(\`${own}\`)`);
  t.same(namesOf(kube.all(kinds.HostName)), [own]);
});

t.test('an additional host that another app holds stops the pass; the running app keeps serving', async (t) => {
  const { kube, create, change, pass, app } = await routed(t, { extraHosts: ['example.com'] });
  await create('other', { extraHosts: ['www.example.com'] });
  await pass('other');
  const before = ruleOf(kube);
  await change({ extraHosts: ['new.example.com', 'www.example.com'] });
  await t.rejects(pass(), { code: 'host_taken' });
  t.same(ruleOf(kube), before);
  t.ok(namesOf(kube.all(kinds.HostName)).includes('example.com'), 'the host in use is not released');
  t.match((await app()).status, { phase: 'failed', message: /"www.example.com" is already used by an app \("other"/ });
  await change({ extraHosts: [] }, 'other');
  await pass('other');
  await pass();
  t.match(ruleOf(kube).match, /new.example.com.*www.example.com/);
});

t.test('an invalid host, or another app’s, never gets into a rule', async (t) => {
  const { kube, change, pass, app } = await routed(t, {});
  const before = ruleOf(kube);
  const invalidHosts = ['*.example.com', 'a`) || PathPrefix(`/', 'web--shop-prod.apps.test', 'console.apps.test', own];
  for (const host of invalidHosts) {
    await change({ extraHosts: [host] });
    await t.rejects(pass(), { code: 'invalid_value' }, host);
    t.same(ruleOf(kube), before);
    t.equal((await app()).status?.phase, 'failed');
  }
  t.same(namesOf(kube.all(kinds.HostName)), [own]);
});

t.test('a host that was claimed for a coming change is kept for a limited time', async (t) => {
  const { kube, pass, clock, app, change } = await routed(t, {});
  const ahead = async () => {
    const until = new Date(clock.now().getTime() + 60_000);
    return claimHostAhead(kube, await app(), 'www.example.com', until);
  };
  await ahead();
  const { outcome } = await pass();
  t.same(outcome, { requeueAfterMs: 60_000 });
  t.same(namesOf(kube.all(kinds.HostName)), [own, 'www.example.com']);
  await clock.advance(60_000);
  t.equal((await pass()).outcome, undefined);
  t.same(namesOf(kube.all(kinds.HostName)), [own], 'the change never happened');

  await ahead();
  await change({ extraHosts: ['www.example.com'] });
  await pass();
  await change({ extraHosts: [] });
  await pass();
  t.same(namesOf(kube.all(kinds.HostName)), [own], 'the change happened and was reverted');
});

t.test('with a gate every host is checked, and a new host requires a new proof', async (t) => {
  const { world, kube, change, pass, clock } = await routed(t, { extraHosts: ['example.com'] });
  await change({ gate: { enabled: true } });
  await pass();
  await clock.advance(500);
  world.answer = { kind: 'mixed', status: 200, host: 'example.com:18080' };
  const waiting = await pass();
  t.same(world.asked.at(-1)?.hosts, [`${own}:18080`, 'example.com:18080']);
  t.equal(waiting.app?.status?.gate, 'applying');
  t.match(
    waiting.app?.status?.conditions?.find(({ type }) => type === 'Gated'),
    { message: /some requests without an API key \(status 200 on example.com:18080\)/ },
  );
  world.answer = undefined;
  await clock.advance(500);
  t.equal((await pass()).app?.status?.gate, 'gated');

  await change({ extraHosts: ['example.com', 'www.example.com'] });
  t.equal((await pass()).app?.status?.gate, 'applying');
  t.same(
    ruleOf(kube).middlewares,
    ['svc-gate-strip', 'gate-<id>', 'svc-retry'],
    'the new host has the gate from the start',
  );
  await clock.advance(500);
  t.equal((await pass()).app?.status?.gate, 'gated');
  t.same(world.asked.at(-1)?.hosts.length, 3);

  await change({ gate: { enabled: false } });
  await pass();
  world.answer = { kind: 'mixed', status: 200 };
  await clock.advance(500);
  t.equal((await pass()).app?.status?.gate, 'lifting', 'not open until all hosts are');
});

t.test('security headers exist before the route refers to them, and are deleted after it no longer does', async (t) => {
  const { kube, change, pass, order } = await routed(t, {});
  const named = () => namesOf(kube.all(kinds.Middleware));
  t.same(ruleOf(kube).middlewares, ['svc-strip', 'svc-retry'], 'an app that does not set them');
  t.same(named(), ['svc-retry', 'svc-strip', 'svc-strip-key']);
  order.length = 0;
  await change({ security: { headers: true } });
  await pass();
  t.same(order, ['project gated=false', 'create Middleware security-<id>', 'replace IngressRoute api']);
  t.same(ruleOf(kube).middlewares, ['security-<id>', 'svc-strip', 'svc-retry']);
  const sent = () =>
    kube.all<HeadersMiddleware>(kinds.Middleware).find(({ metadata: { name } }) => name.startsWith('security-'))?.spec
      .headers.customResponseHeaders ?? {};
  t.equal(sent()['X-Frame-Options'], 'SAMEORIGIN');
  t.notHas(sent(), 'Content-Security-Policy');
  order.length = 0;
  await change({ security: { csp: ['cdn.example.com'] } });
  await pass();
  t.same(order, ['project gated=false', 'replace Middleware security-<id>'], 'the route is unchanged');
  t.match(sent()['Content-Security-Policy'], "default-src 'self' cdn.example.com;");

  order.length = 0;
  await change({ security: { headers: false, csp: null } });
  await pass();
  t.same(order, ['project gated=false', 'replace IngressRoute api']);
  await pass();
  t.same(order.slice(2), ['project gated=false', 'delete Middleware security-<id>']);
  t.same(named(), ['svc-retry', 'svc-strip', 'svc-strip-key']);

  await change({ security: { csp: ['a.example.com; script-src *'] } });
  await t.rejects(pass(), { code: 'invalid_value' });
  t.same(ruleOf(kube).middlewares, ['svc-strip', 'svc-retry']);
});

t.test('deleting an app releases every host, also reserved ones, and leaves only shared Middlewares', async (t) => {
  const { kube, read, app, pass, clock } = await routed(t, {
    extraHosts: ['example.com', 'www.example.com'],
    security: { headers: true },
    gate: { enabled: true },
  });
  const shared = ['svc-gate-strip', 'svc-retry'];
  t.same(namesOf(kube.all(kinds.Middleware)), ['gate-<id>', 'security-<id>', ...shared]);
  await claimHostAhead(kube, await app(), 'new.example.com', new Date(clock.now().getTime() + 60_000));
  await kube.delete({ apiVersion: 'platform.svc/v1', kind: 'App', namespace: 'shop-prod', name: 'api' });
  await pass();
  t.equal(await read(), undefined);
  for (const kind of [kinds.HostName, kinds.IngressRoute]) t.same(kube.all(kind), [], kind.kind);
  t.same(namesOf(kube.all(kinds.Middleware)), shared);
});
