import t, { type Test } from 'tap';
import { sourceChecks } from '../../../functions/platform/checks.ts';
import { createMetricsSources } from '../../../runtime/api/metrics-sources.ts';
import type { UsageState } from '../../../runtime/contracts/platform-state.ts';
import { MetricsUnavailable, type IngressMetrics, type MetricsStore } from '../../../runtime/metrics/metrics-store.ts';
import { writeControllerReport } from '../../../runtime/records/controller-reports.ts';
import { fakeKube } from '../../support/fake-kube.ts';
import { platformConfigObject } from '../../support/objects.ts';
import { testDatabase } from '../../support/postgres.ts';

const report = { healthy: true, managerStarted: true, cacheSynced: true, controllers: [], processes: [], nodes: [] };

/** The sources of an installation with these settings of monitoring. */
async function world(t: Test, monitoring: object, ingress: () => Promise<IngressMetrics>) {
  const kube = fakeKube();
  kube.seed({ ...platformConfigObject, spec: { ...(platformConfigObject['spec'] as object), monitoring } });
  const { pool } = await testDatabase(t);
  const store = { ingress } as MetricsStore;
  return { pool, checks: sourceChecks(createMetricsSources({ kube, pool, store })) };
}

t.test('the state of the metrics API is that of the last report of the controllers', async (t) => {
  const { pool, checks } = await world(t, { mode: 'cluster' }, () => Promise.resolve('on'));
  const usage = () => checks['metrics-api']?.(true);
  t.equal(await usage(), undefined, 'before the first report');
  await writeControllerReport(pool, report);
  t.equal(await usage(), undefined, 'before the controllers know');
  const expected: [UsageState, object][] = [
    ['available', { status: 'on' }],
    ['absent', { status: 'disabled', message: /install metrics-server/ }],
    ['refused', { status: 'unhealthy', message: /svc install/ }],
    ['failing', { status: 'unhealthy', message: /does not answer; check metrics-server/ }],
  ];
  for (const [state, shown] of expected) {
    await writeControllerReport(pool, { ...report, usage: state });
    t.match(await usage(), shown, state);
  }
  await pool.query(`UPDATE controller_reports SET reported_at = now() - interval '16 seconds'`);
  t.equal(await usage(), undefined, 'an old report proves nothing');
});

t.test(
  'missing metrics of the ingress are a choice without an address, and a fault when Traefik does not answer',
  async (t) => {
    let state: IngressMetrics | Error = 'on';
    const ingress = () => (state instanceof Error ? Promise.reject(state) : Promise.resolve(state));
    const address = 'traefik-metrics.kube-system.svc:9100';
    const { checks } = await world(t, { mode: 'cluster', ingressMetrics: address }, ingress);
    const check = (isAdmin: boolean) => checks['ingress-metrics']?.(isAdmin);
    t.same(await check(true), { status: 'on' });
    state = 'down';
    t.match(await check(true), {
      status: 'unhealthy',
      message: /^requests of apps are not collected: .*does not answer at /,
    });
    t.match((await check(true))?.message, address);
    t.notMatch((await check(false))?.message, address, 'addresses are for admins');
    state = 'missing';
    t.match(await check(true), { status: 'disabled', message: /enable them in Traefik/ });
    t.notMatch((await check(false))?.message, address);
    state = new MetricsUnavailable('The metrics store cannot be reached.');
    t.equal(await check(true), undefined, 'the store has a line of its own');
    const { checks: without } = await world(t, { mode: 'cluster' }, () => Promise.resolve('missing'));
    t.match(await without['ingress-metrics']?.(false), { status: 'disabled', message: /--ingress-metrics/ });
  },
);

t.test('the embedded cluster measures everything itself', async (t) => {
  const { pool, checks } = await world(t, { mode: 'embedded' }, () => Promise.reject(new Error('not asked')));
  await writeControllerReport(pool, { ...report, usage: 'absent' });
  for (const check of Object.values(checks)) t.equal(await check(true), undefined);
});
