import t from 'tap';
import { fieldsAtLevel, toolLevels, toolsAtLevel } from '../../../runtime/assistant/data-levels.ts';
import { readTools } from '../../../runtime/assistant/read-tools.ts';
import { writeTools } from '../../../runtime/assistant/write-tools.ts';
import { testSession } from '../../support/api.ts';
import { dataOf, testTools, toolCaller, type Handlers } from '../../support/tools.ts';

t.test('every tool has a level', (t) => {
  const names = [...readTools, ...writeTools].map(({ name }) => name);
  t.same(Object.keys(toolLevels).toSorted(), names.toSorted());
  t.end();
});

t.test('what each level adds', async (t) => {
  const tools = (await testTools()).list(testSession).filter(({ readOnly }) => readOnly);
  const namesAt = (level: 'names' | 'state' | 'logs') => toolsAtLevel(tools, level).map(({ name }) => name);
  t.same(namesAt('names'), [
    ...['list_projects', 'list_environments', 'list_workloads', 'list_secret_names', 'list_volumes', 'list_plans'],
    ...['list_keys', 'list_images', 'show_schedule'],
  ]);
  t.same(
    namesAt('state').filter((name) => !namesAt('names').includes(name)),
    [
      ...['show_project', 'show_workload', 'list_runs', 'show_metrics', 'list_bindings', 'show_gate'],
      ...['list_app_history', 'show_revision', 'list_deployments', 'show_deployment', 'list_builds', 'show_git_source'],
      ...['list_webhook_deliveries', 'list_function_events', 'show_key_usage', 'show_top', 'show_gate_change'],
      ...['show_platform_status', 'show_gate_status', 'list_alerts'],
    ],
  );
  t.same(
    namesAt('logs').filter((name) => !namesAt('state').includes(name)),
    ['show_logs', 'show_run_log', 'show_deployment_log', 'list_dead_letters'],
  );
  t.notOk(namesAt('logs').includes('whoami'));
});

t.test('at the level of names, only names leave', async (t) => {
  const handlers: Handlers = {
    'GET /projects/:project/apps': async () => ({
      status: 200,
      body: {
        items: [
          {
            name: 'api',
            image: 'r.test/api:1',
            status: 'running',
            message: 'exit',
            env: { A: '1' },
            limits: { cpu: '1' },
          },
        ],
      },
    }),
  };
  const tools = await testTools({ handlers });
  const list = async (level: 'names' | 'state') => {
    const args = { kind: 'app', project: 'shop' };
    const { text } = await tools.call(toolCaller(), 'list_workloads', args, {
      keeps: fieldsAtLevel('list_workloads', level),
    });
    return dataOf(text);
  };
  t.same(await list('names'), { items: [{ name: 'api' }] });
  t.match(await list('state'), { items: [{ image: 'r.test/api:1', env: { A: '[hidden]' } }] });
  t.equal(fieldsAtLevel('show_schedule', 'names'), undefined, 'it is about no object');
});
