import t from 'tap';
import { appUpdate, type AppView } from '../../../runtime/contracts/api/apps.ts';
import {
  changeBody,
  changedSettings,
  changeWords,
  settingTexts,
  type SettingTexts,
} from '../../../functions/console/ui/apps/settings-draft.ts';

const app: AppView = {
  id: '0',
  name: 'api',
  project: 'shop',
  environment: 'prod',
  image: 'api:1',
  port: 8080,
  replicas: 2,
  readyReplicas: 2,
  status: 'running',
  memory: '512Mi',
  volumes: [{ name: 'data', path: '/data' }],
  env: {},
  autoRollback: true,
  extraHosts: [],
  gate: 'off',
  createdAt: '',
  security: { headers: true, csp: null },
};
const before = settingTexts(app);
const body = (group: 'pods' | 'security', after: Partial<SettingTexts>, seen = before) => {
  const change = changeBody(group, before, { ...before, ...after }, seen);
  t.ok(appUpdate.safeParse(change).success, 'the API accepts its form');
  return change;
};
const words = (group: 'pods' | 'security', after: Partial<SettingTexts>) =>
  changeWords('api', group, before, { ...before, ...after });

t.test('only what differs is sent, with what it replaces', (t) => {
  t.same(changedSettings('pods', before, { ...before, memory: ' 512Mi ', csp: 'x.example' }), []);
  t.same(body('pods', { replicas: '3', memory: '' }), {
    replicas: 3,
    memory: null,
    replaces: { replicas: 2, memory: '512Mi' },
  });
  const seen = settingTexts({ ...app, replicas: 5, port: 9000 });
  t.same(body('pods', { replicas: '3' }, seen), { replicas: 3, replaces: { replicas: 5 } }, 'what was shown last');
  t.same(body('pods', { volumes: '', autoRollback: 'off', releaseCommand: 'npm\nrun the migration' }), {
    volumes: [],
    autoRollback: false,
    releaseCommand: ['npm', 'run the migration'],
    replaces: { volumes: [{ name: 'data', path: '/data' }], autoRollback: true, releaseCommand: null },
  });
  t.end();
});

t.test('a policy without domains is the own host, and none without a text', (t) => {
  const replaces = { security: { headers: true, csp: null } };
  t.same(body('security', { csp: 'self' }), { security: { csp: [] }, replaces });
  t.same(body('security', { csp: 'a.example\n b.example', headers: 'off' }), {
    security: { headers: false, csp: ['a.example', 'b.example'] },
    replaces,
  });
  t.equal(settingTexts({ ...app, security: { headers: true, csp: [] } }).csp, 'self');
  t.end();
});

t.test('the command makes the same change', (t) => {
  t.same(words('pods', {}), ['app', 'show', 'api']);
  t.same(words('pods', { replicas: '3', memory: '', volumes: 'a:/a\nb:/b', healthPath: '/up' }), [
    ...['app', 'update', 'api', '--replicas', '3', '--default-memory', '--health-path', '/up'],
    ...['--volume', 'a:/a', '--volume', 'b:/b'],
  ]);
  t.same(words('pods', { releaseCommand: 'npm\nsay "hi"', volumes: '' }).slice(3), [
    ...['--release-command', String.raw`npm "say \"hi\""`, '--no-volumes'],
  ]);
  t.same(words('security', {}), ['app', 'security', 'show', 'api']);
  t.same(words('security', { csp: 'a.example\nb.example', headers: 'off' }), [
    ...['app', 'security', 'set', 'api', '--headers', 'off', '--csp', 'a.example', '--csp', 'b.example'],
  ]);
  const withPolicy = settingTexts({ ...app, security: { headers: true, csp: [] } });
  t.same(changeWords('api', 'security', withPolicy, before).slice(4), ['--csp', 'none']);
  t.end();
});
