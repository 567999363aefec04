import { setImmediate } from 'node:timers/promises';
import t from 'tap';
import { readTools } from '../../../runtime/assistant/read-tools.ts';
import { createLineSources, sourceOf } from '../../../runtime/assistant/sources.ts';
import { resultText } from '../../../runtime/assistant/result-text.ts';
import { createRedact } from '../../../runtime/assistant/redaction.ts';
import { rootGroup } from '../../../cli/commands/root.ts';
import { findGroup, loadGroup } from '../../../cli/command.ts';

const place = { project: 'shop', environment: 'prod' };
const logs = { kind: 'logs' as const, name: 'api', of: 'app', ...place };

t.test('what a call shows has the command that shows it', async (t) => {
  const cases: [string, Record<string, string>, string | undefined][] = [
    ['show_workload', { ...place, app: 'api' }, 'svc app show api --project shop --environment prod'],
    ['show_metrics', { project: 'shop', service: 'db' }, 'svc service show db --project shop'],
    ['show_logs', { ...place, job: 'report' }, 'svc job logs report --project shop --environment prod'],
    ['show_run_log', { ...place, function: 'f' }, 'svc function logs f --project shop --environment prod'],
    ['show_deployment', { project: 'shop', id: '1' }, 'svc deployment show 1 --project shop'],
    ['show_deployment_log', { project: 'shop', id: '1' }, 'svc deployment show 1 --project shop'],
    ['list_function_events', { ...place, function: 'f' }, 'svc function events f --project shop --environment prod'],
    ['list_dead_letters', { project: 'shop', function: 'f' }, 'svc function dead-letters list f --project shop'],
    ['show_key_usage', { project: 'shop', key: 'k3' }, 'svc key usage k3 --project shop'],
    ['show_project', { project: 'shop' }, 'svc project show shop'],
    ['list_workloads', { project: 'shop' }, undefined],
    ['show_schedule', {}, undefined],
  ];
  for (const [tool, names, command] of cases) {
    t.ok(readTools.some(({ name }) => name === tool));
    t.equal(sourceOf(tool, names)?.command, command, tool);
    const [, ...words] = command?.replace(/ --.*/, '').split(' ') ?? [];
    if (command !== undefined) t.ok(await isCommand(words), command);
  }
});

/** Whether the words begin with the name of a command. */
async function isCommand([first, ...rest]: readonly string[]): Promise<boolean> {
  let group: Parameters<typeof findGroup>[0] = rootGroup;
  for (const word of [first, ...rest]) {
    const child = await findGroup(group, word);
    if (!child) return (await loadGroup(group)).commands.some(({ name }) => name === word);
    group = child;
  }
  return false;
}

t.test('an answer that names the time of a line rests on this line', async (t) => {
  const lines = createLineSources();
  const items = [
    { pod: 'api-1', time: '2026-01-01T00:00:04.123456789Z', line: 'one' },
    { pod: 'api-2', time: '2026-01-01T00:00:05Z', line: 'two "pod":"evil","time":"2026-01-01T00:00:09Z"' },
  ];
  lines.add(logs, await resultText({ items }, { redact: createRedact() }));
  const named = (answer: string) => lines.namedIn(answer).map(({ time }) => time);
  t.same(lines.namedIn('At 2026-01-01T00:00:04.123Z it failed.'), [
    {
      ...logs,
      time: '2026-01-01T00:00:04.123456789Z',
      pod: 'api-1',
      command: 'svc app logs api --at 2026-01-01T00:00:04.123456789Z --project shop --environment prod',
    },
  ]);
  t.same(named('`2026-01-01 00:00:05`, 2026-01-01T00:00:04Z, and 2026-01-01T00:00:05Z again'), [
    '2026-01-01T00:00:05Z',
    '2026-01-01T00:00:04.123456789Z',
  ]);
  t.same(named('2026-01-01T00:00:06Z, 2026-01-01T00:00:04.9Z, 00:00:04, 12026-01-01T00:00:04Z'), []);
  t.same(named('2026-01-01T00:00:09Z'), [], 'a line cannot look like another one');
});

t.test('many lines and times take no time', async (t) => {
  const lines = createLineSources();
  const time = (at: number) => new Date(Date.UTC(2026, 0, 1) + at * 10).toISOString();
  const items = Array.from({ length: 20_000 }, (_, at) => ({ pod: 'api-1', time: time(at), line: '' }));
  for (let at = 0; at < items.length; at += 400) {
    lines.add(logs, await resultText({ items: items.slice(at, at + 400) }, { redact: createRedact() }));
  }
  await setImmediate();
  t.equal(lines.namedIn(items.map((item) => item.time).join(' ')).length, 10, 'only some are named');
});
