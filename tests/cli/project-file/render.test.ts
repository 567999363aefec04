import t from 'tap';
import type { Plan } from '../../../cli/project-file/plan.ts';
import { hasChanges, planText } from '../../../cli/project-file/render.ts';

t.test('the sum counts each line of the plan: projects, environments and objects', (t) => {
  const web = { kind: 'apps', name: 'web', action: 'create', changes: [], missingSecrets: [] };
  const prod = { environment: 'prod', isNew: true, limits: { changes: [] }, objects: [web], others: [] };
  const dev = { ...prod, environment: 'dev', isNew: false, objects: [{ ...web, action: undefined }] };
  // Only what is shown.
  const plan = { file: { project: 'shop' }, isNewProject: true, environments: [prod, dev] } as unknown as Plan;
  t.same(planText(plan).split('\n'), [
    '+ project shop',
    '+ environment prod',
    '  + app web',
    '3 to create, 0 to change, 0 to delete, 1 unchanged.',
  ]);
  t.ok(hasChanges(plan));
  t.end();
});
