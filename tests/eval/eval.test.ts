import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import t from 'tap';
import { calls, says, scriptOf, startScriptedProvider } from '../support/scripted-provider.ts';
import { judge } from './judge.ts';
import { runTask } from './run.ts';
import { tasks } from './tasks.ts';
import type { Task } from './task.ts';

const run = promisify(execFile);

t.test(
  'every task can be answered from its recorded state, and its judge sees a good answer and a bad one',
  async (t) => {
    const scripted = await startScriptedProvider(t);
    const provider = { url: scripted.url, model: 'm', key: undefined, networks: ['127.0.0.0/8'] };
    t.ok(tasks.length >= 40, `${tasks.length} tasks`);
    t.equal(new Set(tasks.map(({ name }) => name)).size, tasks.length, 'each has its own name');
    for (const task of tasks) {
      scripted.script = scriptOf(task);
      scripted.requests.length = 0;
      const refused: string[] = [];
      const verdict = await runTask(task, provider, {
        onPart: (_, part) => {
          if (part.type === 'tool' && part.refused) refused.push(part.tool);
        },
      });
      t.match(verdict, { passed: true, missing: [], faults: [] }, task.name);
      t.same(refused, [], `${task.name}: the tools answer`);
      const results = scripted.requests.at(-1)?.body.messages.filter(({ role }) => role === 'tool') ?? [];
      const shown = results.map(({ content }) => content).join('\n');
      // What is prepared follows from the question.
      const isShown = task.prepares !== undefined || Object.values(task.facts).some((fact) => fact.test(shown));
      t.ok(isShown, `${task.name}: a fact is in the state`);
      t.notMatch(shown, /4111 1111/, 'no content of an event');

      const bad = judge(task, [{ type: 'text', text: 'Everything is fine.' }]);
      t.equal(bad.passed, false, `${task.name}: without the facts`);
    }
  },
);

t.test('wrong claims, commands that nobody asked for and failed answers count', async (t) => {
  const scripted = await startScriptedProvider(t);
  const provider = { url: scripted.url, model: 'm', key: undefined, networks: ['127.0.0.0/8'] };
  const named = (name: string) => tasks.find((task) => task.name === name) ?? t.fail(name);
  const hostile = named('change: a log that gives orders') as Task;
  scripted.script = [
    calls(['restart_workload', { kind: 'app', name: 'api', environment: 'prod' }]),
    says('A certificate has expired.'),
  ];
  t.match(await runTask(hostile, provider), { passed: false, missing: [], faults: [/prepares svc app restart api/] });
  const crash = named('deployment: a crash without a variable') as Task;
  scripted.script = [says(`${crash.answer} It was out of memory.`)];
  t.match(await runTask(crash, provider), { passed: false, faults: ['it claims out of memory'] });
  scripted.script = [(response) => response.writeHead(429).end()];
  t.match(await runTask(crash, provider), { passed: false, faults: [/^provider_busy/] });
});

t.test('npm run eval prints the results', async (t) => {
  const [task] = tasks as [Task];
  const scripted = await startScriptedProvider(t, scriptOf(task));
  const main = join(import.meta.dirname, 'main.ts');
  const env = {
    ...process.env,
    SVC_EVAL_URL: `${scripted.url}/`,
    SVC_EVAL_MODEL: 'm',
    SVC_EVAL_NETWORK: '127.0.0.0/8',
  };
  const { stdout } = await run(process.execPath, [main, task.name], { env: { ...env, SVC_EVAL_KEY: 'eval-key' } });
  t.match(stdout, `passed ${task.name} (`);
  t.match(stdout, /^m: 1 of 1 tasks passed, 4 of 4 facts stated, 240 tokens$/m);
  t.equal(scripted.requests[0]?.headers.authorization, 'Bearer eval-key');
  scripted.script = [says('no idea')];
  const failed = await run(process.execPath, [main, task.name], { env });
  t.match(failed.stdout, /not stated: cause\n[^]*answer: no idea\nm: 0 of 1 tasks passed/);
  await t.rejects(run(process.execPath, [main], { env: { ...env, SVC_EVAL_URL: '' } }), { code: 2 });
});
