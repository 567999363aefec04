import t from 'tap';
import { cronJobController } from '../../../../infra/local/controllers/cron-job.ts';
import type { BatchJob, CronJob } from '../../../../infra/local/controllers/objects.ts';
import { template } from '../../../support/local-controllers.ts';
import { kinds } from '../../../../runtime/contracts/resources/kinds.ts';
import { fakeClock } from '../../../support/clock.ts';
import { fakeKube } from '../../../support/fake-kube.ts';
import { silentLog } from '../../../support/log.ts';

const minute = 60_000;

/** A CronJob created at 12:00:30 UTC whose passes the test starts. */
function world(spec: Partial<CronJob['spec']> = {}) {
  const clock = fakeClock(new Date('2026-03-01T12:00:30Z'));
  const kube = fakeKube({ now: () => clock.now() });
  const controller = cronJobController(kube, clock);
  const cron: CronJob = {
    apiVersion: 'batch/v1',
    kind: 'CronJob',
    metadata: { name: 'tick', namespace: 'default' },
    spec: { schedule: '* * * * *', jobTemplate: { spec: { template: template({}) } }, ...spec },
  };
  kube.seed(cron);
  const jobs = () => kube.all<BatchJob>(kinds.BatchJob);
  return {
    clock,
    kube,
    jobs,
    cron: () => kube.all<CronJob>(kinds.CronJob)[0],
    pass: async () => {
      const [object] = kube.all<CronJob>(kinds.CronJob);
      const request = {
        name: 'tick',
        namespace: 'default',
        object,
        signal: new AbortController().signal,
        log: silentLog,
      };
      return controller.reconcile(request);
    },
    /** Lets a Job end. */
    async end(name: string | undefined, type: 'Complete' | 'Failed' = 'Complete') {
      const status = { conditions: [{ type, status: 'True' }] };
      await kube.mergePatch({ ...kinds.BatchJob, namespace: 'default', name: name ?? '' }, { status }, 'status');
    },
    names: () => jobs().map(({ metadata }) => Number(metadata.name.split('-')[1]) % 1000),
  };
}

/** The last three digits of the minutes since 1970 at 12:00. */
const noon = (Date.parse('2026-03-01T12:00:00Z') / minute) % 1000;

t.test('one Job is created per scheduled time, even if a pass is repeated', async (t) => {
  const { clock, pass, names, cron } = world();
  t.match(await pass(), { requeueAfterMs: 30_100 });
  t.same(names(), []);
  await clock.advance(31_000);
  await pass();
  await pass();
  t.same(names(), [noon + 1]);
  t.equal(cron()?.status?.lastScheduleTime, '2026-03-01T12:01:00Z');
  await clock.advance(minute);
  await pass();
  t.same(names(), [noon + 1, noon + 2]);
});

t.test('only the last missed run is created, unless it is too long ago', async (t) => {
  const late = world();
  await late.clock.advance(30 * minute);
  await late.pass();
  t.same(late.names(), [noon + 30]);
  const tooLate = world({ schedule: '5 12 * * *', startingDeadlineSeconds: 300 });
  await tooLate.clock.advance(20 * minute);
  await tooLate.pass();
  t.same(tooLate.names(), []);
});

t.test('overlapping runs: Forbid waits for the running Job, Replace deletes it', async (t) => {
  const forbid = world({ concurrencyPolicy: 'Forbid' });
  await forbid.clock.advance(minute);
  await forbid.pass();
  await forbid.clock.advance(minute);
  await forbid.pass();
  t.same(forbid.names(), [noon + 1]);
  await forbid.end(forbid.jobs()[0]?.metadata.name);
  await forbid.pass();
  t.same(forbid.names(), [noon + 1, noon + 2]);

  const replace = world({ concurrencyPolicy: 'Replace' });
  await replace.clock.advance(minute);
  await replace.pass();
  await replace.clock.advance(minute);
  await replace.pass();
  t.same(replace.names(), [noon + 2]);
});

t.test('a suspended CronJob creates no Jobs; its time zone applies; old Jobs are deleted', async (t) => {
  const suspended = world({ suspend: true });
  await suspended.clock.advance(2 * minute);
  await suspended.pass();
  t.same(suspended.names(), []);

  const berlin = world({ schedule: '3 13 * * *', timeZone: 'Europe/Berlin' });
  await berlin.clock.advance(3 * minute);
  await berlin.pass();
  t.same(berlin.names(), [noon + 3]);

  const history = world({ successfulJobsHistoryLimit: 1, failedJobsHistoryLimit: 0 });
  for (let n = 0; n < 3; n++) {
    await history.clock.advance(minute);
    await history.pass();
    await history.end(history.jobs().at(-1)?.metadata.name, n === 1 ? 'Failed' : 'Complete');
  }
  await history.pass();
  t.same(history.names(), [noon + 3]);
  const spec = { template: template({}) };
  const owner = { apiVersion: 'example.test/v1', kind: 'Other', name: 'tick', uid: 'x' };
  for (const [name, controller] of [
    ['other-1', true],
    ['other-2', false],
  ] as const) {
    const metadata = { name, namespace: 'default', ownerReferences: [{ ...owner, controller }] };
    history.kube.seed({ apiVersion: 'batch/v1', kind: 'Job', metadata, spec });
    await history.end(name);
  }
  await history.pass();
  t.equal(history.jobs().length, 2, 'a Job with its owner reference is deleted too');
  t.ok(
    history.jobs().some(({ metadata }) => metadata.name === 'other-2'),
    'not one without a controller',
  );
});
