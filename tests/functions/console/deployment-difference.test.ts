import t from 'tap';
import type { DeploymentView } from '../../../runtime/contracts/api/apps.ts';
import { previousOf } from '../../../functions/console/ui/apps/difference.ts';
import { stepsOf } from '../../../functions/console/ui/apps/steps.ts';

function deployment(revision: number | undefined, more: Partial<DeploymentView> = {}): DeploymentView {
  return {
    id: String(revision),
    app: 'api',
    trigger: 'manual',
    status: 'succeeded',
    current: false,
    image: 'api:1',
    acceptedAt: '2026-01-01T00:00:00Z',
    ...(revision !== undefined && { revision }),
    ...more,
  };
}

t.test('a deployment is compared with the one that the app ran before it', (t) => {
  const history = [
    deployment(5, { status: 'failed' }),
    deployment(undefined, { status: 'skipped' }),
    deployment(4, { status: 'failed' }),
    deployment(3),
    deployment(2),
    deployment(1, { status: 'failed' }),
  ];
  const previous = (index: number) => previousOf(history[index] ?? deployment(undefined), history)?.revision;
  t.same([0, 1, 2, 3, 4, 5].map(previous), [3, undefined, 3, 2, undefined, undefined]);
  t.end();
});

t.test('a deployment has a step for each time, and one for what is in progress', (t) => {
  const [accepted, started, ended] = ['2026-01-01T00:00:00Z', '2026-01-01T00:00:02Z', '2026-01-01T00:00:09Z'];
  const steps = (more: Partial<DeploymentView>) => stepsOf(deployment(1, more));
  t.same(steps({ status: 'accepted' }), [{ state: 'accepted', at: accepted }]);
  t.same(steps({ status: 'building', startedAt: started }), [
    { state: 'accepted', at: accepted },
    { state: 'started', at: started },
    { state: 'building' },
  ]);
  t.same(steps({ status: 'failed', startedAt: started, endedAt: ended }), [
    { state: 'accepted', at: accepted },
    { state: 'started', at: started },
    { state: 'failed', at: ended },
  ]);
  t.same(steps({ status: 'superseded', endedAt: ended }), [
    { state: 'accepted', at: accepted },
    { state: 'superseded', at: ended },
  ]);
  t.end();
});
