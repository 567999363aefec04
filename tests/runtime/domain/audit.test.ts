import t from 'tap';
import { auditDetailsOf, auditObjectOf, type AuditAction } from '../../../runtime/domain/audit.ts';

const actor = 'dana@svc.local';
const place = { project: 'shop', environment: 'prod' };

t.test('the object of an entry is the most specific one that its fields name', (t) => {
  const objectOf = (action: AuditAction, fields: Record<string, unknown>) =>
    auditObjectOf({ action, actor, ...fields });
  const cases: [AuditAction, Record<string, unknown>, string | undefined][] = [
    ['app.update', { ...place, app: 'api' }, 'app api'],
    ['binding.set', { ...place, function: 'hello', service: 'orders' }, 'function hello'],
    ['service.delete', { ...place, service: 'orders' }, 'service orders'],
    ['gate.enable', { ...place, app: { id: '1', name: 'api' } }, 'app api'],
    ['key.rotate', { ...place, key: 'abcd', apiKey: { id: '1', handle: 'abcd', name: 'mobile' } }, 'key abcd'],
    ['plan.create', { ...place, plan: { id: '1', name: 'gold' } }, 'plan gold'],
    ['token.revoke', { project: 'shop', accessToken: { id: '1', handle: 'h', name: 'ci' } }, 'token ci'],
    ['member.set', { project: 'shop', user: { email: 'lee@svc.local' } }, 'user lee@svc.local'],
    ['notification.test', { project: 'shop', notification: 'ops' }, 'notification ops'],
    ['configuration.apply', { ...place, configuration: 'svc.yaml' }, 'configuration svc.yaml'],
    ['image.delete.request', { ...place, image: 'r/web:1' }, 'image r/web:1'],
    ['platform.component.update', { component: 'log-store' }, 'component log-store'],
    ['platform.alerts.silence', { silence: { id: '1', alert: 'SvcDiskFull' } }, 'silence SvcDiskFull'],
    ['platform.alerts.unsilence', { silence: { id: '1' } }, 'silence 1'],
    ['tool.call', { ...place, tool: 'show', app: 'api' }, 'tool show'],
    ['environment.delete', place, 'environment prod'],
    ['project.create', { project: 'shop' }, 'project shop'],
    ['image.prune', place, undefined],
    ['platform.config.update', { change: {} }, undefined],
  ];
  for (const [action, fields, expected] of cases) {
    const object = objectOf(action, fields);
    t.equal(object && `${object.kind} ${object.name}`, expected, action);
  }
  t.end();
});

t.test('details are the fields of the action alone, and each is short', (t) => {
  const line = {
    action: 'variables.update',
    actor,
    method: 'PATCH',
    token: { id: '1', name: 'ci', user: actor },
    projectId: '2',
    ...place,
    app: 'api',
    names: ['A', 'B'],
    nothing: undefined,
  } as const;
  t.same(auditDetailsOf(line), { app: 'api', names: ['A', 'B'] });
  t.same(auditDetailsOf({ ...line, names: ['x'.repeat(4_092)] })['names'], ['x'.repeat(4_092)]);
  t.same(auditDetailsOf({ ...line, names: ['x'.repeat(4_093)] })['names'], '(4097 characters)');
  t.end();
});
