import t from 'tap';
import type { DeploymentView } from '../../../runtime/contracts/api/apps.ts';
import { automaticRollbackOf, isOver, rollbackStateOf } from '../../../functions/console/ui/apps/rollback-state.ts';

type Entry = Pick<DeploymentView, 'trigger'> & Partial<DeploymentView>;

/** A history, newest first, of deployments that are listed oldest first. The last one that succeeded is current. */
function historyOf(...entries: Entry[]): DeploymentView[] {
  const views = entries.map((each, index): DeploymentView => {
    const revision = index + 1;
    const common = { id: String(revision), app: 'api', acceptedAt: '2026-01-01T00:00:00Z', current: false } as const;
    return { ...common, status: 'succeeded', revision, image: `api:${revision}`, ...each };
  });
  const current = views.findLast(({ status }) => status === 'succeeded');
  return views.map((view) => ({ ...view, current: view === current })).toReversed();
}

const manual = (image: string): Entry => ({ trigger: 'manual', image });
const restart = (image: string): Entry => ({ trigger: 'restart', image });
const back = (rollbackOf: number, image: string, more: Partial<DeploymentView> = {}): Entry => ({
  trigger: 'rollback',
  rollbackOf,
  image,
  actor: 'ada@svc.local',
  ...more,
});

t.test('an app whose newest release runs is not rolled back', (t) => {
  t.equal(rollbackStateOf([]), undefined);
  t.equal(rollbackStateOf(historyOf(manual('v1'))), undefined);
  t.equal(rollbackStateOf(historyOf(manual('v1'), manual('v2'), restart('v2'))), undefined);
  t.equal(rollbackStateOf(historyOf(manual('v1'), { ...manual('v2'), status: 'failed' })), undefined);
  t.end();
});

t.test('a rollback can be undone until the newest release runs again, or another one does', (t) => {
  const releases = [manual('v1'), manual('v2')];
  t.match(rollbackStateOf(historyOf(...releases, back(1, 'v1'))), {
    to: 1,
    left: { revision: 2 },
    current: { revision: 3, actor: 'ada@svc.local' },
    withConfig: false,
  });
  t.match(rollbackStateOf(historyOf(...releases, back(1, 'v1'), restart('v1'))), { to: 1, left: { revision: 2 } });
  t.equal(rollbackStateOf(historyOf(...releases, back(1, 'v1'), back(2, 'v2'))), undefined);
  t.equal(rollbackStateOf(historyOf(...releases, back(1, 'v1'), restart('v1'), back(2, 'v2'))), undefined);
  t.equal(rollbackStateOf(historyOf(...releases, back(1, 'v1'), manual('v3'))), undefined);
  t.end();
});

t.test('an undo returns to the deployment that ran before, and restores its settings if the rollback did', (t) => {
  const releases = [manual('v1'), manual('v2'), restart('v2')];
  t.match(rollbackStateOf(historyOf(...releases, back(1, 'v1', { withConfig: true }))), {
    to: 1,
    left: { revision: 3 },
    withConfig: true,
  });
  const undone = [...releases, back(1, 'v1', { withConfig: true }), back(3, 'v2', { withConfig: true })];
  t.match(rollbackStateOf(historyOf(...undone, back(1, 'v1'))), { to: 1, left: { revision: 5 }, withConfig: false });
  t.end();
});

t.test('several rollbacks lead back to the newest release', (t) => {
  const releases = [manual('v1'), manual('v2'), manual('v3')];
  t.match(rollbackStateOf(historyOf(...releases, back(2, 'v2'))), { to: 2, left: { revision: 3 } });
  t.match(rollbackStateOf(historyOf(...releases, back(2, 'v2'), back(4, 'v2'))), { to: 2, left: { revision: 3 } });
  t.match(rollbackStateOf(historyOf(...releases, back(2, 'v2'), back(1, 'v1'))), { to: 1, left: { revision: 3 } });
  t.equal(rollbackStateOf(historyOf(...releases, back(2, 'v2'), back(1, 'v1'), back(3, 'v3'))), undefined);
  t.end();
});

t.test('a target that is older than the history is older than all of it', (t) => {
  const history = historyOf(manual('v1'), manual('v2'), back(1, 'v1')).slice(0, 2);
  t.match(rollbackStateOf(history), { to: 1, left: { revision: 2 } });
  t.end();
});

t.test('a rollback of the platform is told apart, while the app runs it', (t) => {
  const failed: Entry = { ...manual('v2'), status: 'failed', rolledBackTo: 1 };
  const automatic = back(1, 'v1', { automatic: true, reason: 'Automatic: revision 2 failed: no image' });
  const history = historyOf(manual('v1'), failed, automatic);
  t.match(automaticRollbackOf(history), { rollbackOf: 1, reason: 'Automatic: revision 2 failed: no image' });
  t.equal(rollbackStateOf(history), undefined, 'what failed is nothing to return to');
  t.equal(automaticRollbackOf(historyOf(manual('v1'), failed, automatic, manual('v3'))), undefined);
  t.equal(automaticRollbackOf(historyOf(manual('v1'), manual('v2'), back(1, 'v1'))), undefined);
  t.end();
});

t.test('a deployment is over when it or a newer one has ended', (t) => {
  const before = [manual('v1'), manual('v2')];
  t.notOk(isOver(historyOf(...before), 3), 'it is not in the history yet');
  for (const status of ['accepted', 'building', 'rolling_out'] as const) {
    t.notOk(isOver(historyOf(...before, back(1, 'v1', { status })), 3), status);
  }
  for (const status of ['succeeded', 'failed', 'superseded', 'cancelled'] as const) {
    t.ok(isOver(historyOf(...before, back(1, 'v1', { status })), 3), status);
  }
  t.ok(isOver(historyOf(...before, manual('v3'), manual('v4')).slice(0, 1), 3), 'a history without it');
  t.end();
});
