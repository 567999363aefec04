import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { sentAtLevel } from '../../runtime/assistant/data-levels.ts';
import type { AnswerEvent } from '../../runtime/contracts/api/assistant.ts';
import { assistantLevels } from '../../runtime/domain/assistant.ts';
import { world } from '../cli/world.ts';
import { runTask } from '../eval/run.ts';
import { tasks } from '../eval/tasks.ts';
import type { Task } from '../eval/task.ts';
import { startScriptedProvider, scriptOf } from '../support/scripted-provider.ts';

const page = readFileSync(join(import.meta.dirname, '../../docs/how-to/assistant.md'), 'utf8');

/** The tasks of `npm run eval` that the page shows, with the answers of the scripted provider. */
const shown = [
  'deployment: a crash without a variable',
  'gate: a quota that is used up',
  'events: dead letters of a bug',
  'cron: a new schedule',
  'change: roll back',
];

/** What `svc ask` prints for a task. */
async function transcriptOf(t: Test, task: Task): Promise<string> {
  const scripted = await startScriptedProvider(t, scriptOf(task));
  const provider = { url: scripted.url, model: 'm', key: undefined, networks: ['127.0.0.0/8'] };
  const id = '019a0000-0000-7000-8000-000000000001';
  const events: AnswerEvent[] = [];
  await runTask(task, provider, {
    onPart: (_, part) => events.push(part.type === 'done' ? { ...part, message: id } : part),
  });
  const path = `/api/v1/projects/shop/assistant/conversations/${id}/messages`;
  const { run } = await world(t, {
    [`POST ${path}`]: { body: events.map((event) => `${JSON.stringify(event)}\n`).join('') },
  });
  const words = Object.entries(task.page ?? {}).flatMap(([name, value]) =>
    typeof value === 'string' ? [`--${name}`, value] : [],
  );
  const { stdout, stderr, code } = await run(['ask', task.question, '--conversation', id, ...words]);
  t.equal(code, 0, stderr);
  const calls = stderr.split('\n').filter((line) => line.startsWith('called: '));
  return [`$ svc ask "${task.question}" ${words.join(' ')}`.trimEnd(), ...calls, '', stdout.trimEnd()].join('\n');
}

t.test('the page shows what the command prints', async (t) => {
  const transcripts: string[] = [];
  for (const name of shown) {
    const task = tasks.find((candidate) => candidate.name === name);
    if (!task) throw new Error(`there is no task ${name}`);
    transcripts.push(`\`\`\`text\n${await transcriptOf(t, task)}\n\`\`\``);
  }
  const [, section = ''] = /\n## Five examples\n([^]*?)\n## /.exec(page) ?? [];
  t.equal([...section.matchAll(/```text\n[^]*?\n```/g)].map(([block]) => block).join('\n\n'), transcripts.join('\n\n'));
});

t.test('the page says what each level sends, as the platform does before the first message', (t) => {
  for (const level of assistantLevels) {
    const [, row = ''] = new RegExp(`^\\| \`${level}\` +\\| (.*) \\|$`, 'm').exec(page) ?? [];
    for (const sentence of sentAtLevel[level]) {
      const words = sentence.match(/[a-z]{4,}/g) ?? [];
      t.same(
        words.filter(
          (word) => !row.includes(word) && !['your', 'that', 'which', 'look', 'attach', 'files', 'page'].includes(word),
        ),
        [],
        `${level}: ${sentence}`,
      );
    }
  }
  t.end();
});
