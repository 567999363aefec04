import t from 'tap';
import { kinds } from '../../../runtime/contracts/resources/kinds.ts';
import { Problem } from '../../../runtime/domain/problem.ts';
import { hasEnded } from '../../../runtime/domain/deployment.ts';
import { KubeError } from '../../../runtime/kube/kube-client.ts';
import { cancelDeployment } from '../../../runtime/records/automatic-rollback.ts';
import { createRolloutProcessor } from '../../../workers/rollouts/process.ts';
import { fakeKube } from '../../support/fake-kube.ts';
import { silentLog } from '../../support/log.ts';
import { testDatabase } from '../../support/postgres.ts';
import { seededRandom } from '../../support/random.ts';
import { soakFactor } from '../../support/soak.ts';
import { testApp } from './rollout-world.ts';

const events = 40;
const seeds = Math.floor(50 * soakFactor());

/**
 * Deployments are accepted, cancelled and rolled out, workers are killed or stopped in the middle of a write, and
 * images run or do not. In every case each deployment ends, none has two rollbacks, and the app runs the newest that
 * succeeded.
 */
t.test('accepting, cancelling, failing and rolling back, in any order and cut off at any step', async (t) => {
  const { pool } = await testDatabase(t);
  const counts = { returned: 0, cancelled: 0, superseded: 0, killed: 0, nested: 0 };

  const simulate = async (seed: number) => {
    const random = seededRandom(seed);
    const kube = fakeKube();
    const app = await testApp(pool, kube, `api-${seed}`);
    let [settling, depth] = [false, 0];
    const process = createRolloutProcessor({
      pool,
      kube,
      failpoint() {
        if (settling || !random.chance(0.08)) return;
        counts.killed += 1;
        throw new Error('killed');
      },
    });

    const step = async () => {
      const { rows } = await pool.query<{ id: string; recordId: string; attempt: number }>(
        `SELECT work.id, record_id AS "recordId", attempt FROM work JOIN deployments d ON d.id = record_id
         WHERE kind = 'rollouts' AND work.state = 'pending' AND workload_id = $1 ORDER BY work.id`,
        [app.id],
      );
      if (rows.length === 0) return;
      const { id, recordId, attempt } = random.pick(rows);
      await pool.query('UPDATE work SET attempt = attempt + 1 WHERE id = $1', [id]);
      const signal = new AbortController().signal;
      const outcome = await process({ recordId, attempt: attempt + 1, last: false, signal, log: silentLog }).catch(
        (error: unknown) => {
          const expected = error instanceof KubeError || (error instanceof Error && error.message === 'killed');
          if (!expected) throw error;
        },
      );
      if (outcome !== 'done') return;
      // A late answer is ignored.
      const late = `UPDATE work SET state = 'done', done_at = now() WHERE id = $1 AND attempt = $2`;
      await pool.query(late, [id, attempt + 1]);
    };
    /** Reports what the App controller says of the current release. */
    const report = async () => {
      const { spec } = await app.object();
      if (!spec.release) return;
      const runs = spec.release.image.startsWith('good');
      await app.report(runs ? { phase: 'available' } : { phase: 'failed', message: 'It crashes.' });
    };
    const cancel = async () => {
      const active = (await app.history()).filter(({ state }) => !hasEnded(state));
      if (active.length === 0) return;
      await cancelDeployment(pool, random.pick(active).id, 'ann@svc.local').catch((error: unknown) => {
        if (!(error instanceof Problem)) throw error;
      });
    };
    const accept = async () => {
      await app.accept(random.chance(0.5) ? 'good:1' : 'bad:1');
    };
    const act = async () => {
      const kind = random.weighted({ step: 6, report: 5, accept: 1.2, cancel: 0.5 });
      await (kind === 'step' ? step : kind === 'report' ? report : kind === 'accept' ? accept : cancel)();
    };
    // Another writer comes between a worker's read and its write, which is then too late.
    kube.intercept = async ({ verb, kind }) => {
      if (settling || verb !== 'replace' || kind !== kinds.App.kind || depth > 1 || !random.chance(0.3)) return;
      depth += 1;
      counts.nested += 1;
      for (let more = random.between(1, 3); more > 0; more--) await act();
      depth -= 1;
    };
    const check = async (when: string) => {
      const history = await app.history();
      const active = history.filter(({ state }) => !hasEnded(state));
      if (active.length > 1) throw new Error(`${when}: ${active.length} are active at once`);
      for (const entry of history) {
        const { automatic, rollbackOf, rolledBackTo, revision, state } = entry;
        const next = history.find((other) => other.revision === (revision ?? 0) + 1);
        if (rolledBackTo !== null && (!next?.automatic || next.rollbackOf !== rolledBackTo))
          throw new Error(`${when}: revision ${revision} has lost its way back`);
        if (automatic && state === 'failed' && rolledBackTo !== null) throw new Error(`${when}: it goes in circles`);
        if (automatic && rollbackOf === null) throw new Error(`${when}: a return that leads nowhere`);
      }
      return history;
    };

    for (let event = 0; event < events; event++) {
      await act();
      await check(`seed ${seed}, event ${event}`);
    }
    settling = true;
    for (let round = 0; (await app.history()).some(({ state }) => !hasEnded(state)); round++) {
      if (round > 100) throw new Error(`seed ${seed}: it never comes to an end`);
      await report();
      await step();
    }
    const history = await check(`seed ${seed}, at the end`);
    const currentDeployment = history.find(({ current }) => current);
    const { release } = (await app.object()).spec;
    if (currentDeployment)
      t.equal(release?.deploymentId, currentDeployment.id, `seed ${seed}: the app runs the newest that succeeded`);
    counts.returned += history.filter(({ automatic }) => automatic).length;
    counts.cancelled += history.filter(({ state }) => state === 'cancelled').length;
    counts.superseded += history.filter(({ state }) => state === 'superseded').length;
  };

  for (let seed = 1; seed <= seeds; seed++) await simulate(seed);
  for (const [what, times] of Object.entries(counts)) t.ok(times > 10, `${what}: ${times}`);
});
