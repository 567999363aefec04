import t from 'tap';
import { createModelTools } from '../../runtime/assistant/model-tools.ts';
import { assistantLevels, type AssistantLevel } from '../../runtime/domain/assistant.ts';
import { app, at, deadLetter, deployment, fn, job, key, lines, list, recording, service } from '../eval/recording.ts';
import { replay } from '../eval/run.ts';
import { testTools, toolCaller } from '../support/tools.ts';

/*
 * What a provider can get at each level, whatever it asks for: each kind of data of the platform has a text of its own, and
 * a model that calls every tool about every object is searched for it.
 */

/** The text of each kind of data. */
const kinds = {
  'names of objects': 'name-of-an-app',
  'names of secrets': 'NAME_OF_A_SECRET',
  'names of plans and keys': 'name-of-a-key',
  'names of variables': 'NAME_OF_A_VARIABLE',
  'why something does not run': 'why-it-does-not-run',
  'images and their registry': 'registry.example.com',
  'messages of commits': 'message-of-a-commit',
  'addresses of repositories': 'git.example.com',
  'addresses of apps': 'address-of-an-app',
  schedules: '17 3 * * *',
  'usage of keys': '471108150711',
  'log lines': 'text-of-a-log',
  'logs of runs': 'text-of-a-run',
  'output of builds': 'text-of-a-build',
  'errors of events': 'error-of-an-event',
  'values of variables': 'value-of-a-variable',
  'content of events': 'content-of-an-event',
  'digests of images': 'shop/api@sha256:0a1b',
  'email addresses of those who deployed': 'member@example.com',
  'email addresses of those who created keys': 'owner@localhost',
  'email addresses in texts': 'writer+ci@mail.example.com',
} as const;

const state = kinds['names of objects'];
const recorded = recording({
  apps: [
    app({
      name: state,
      status: 'failed',
      message: `${kinds['why something does not run']}; ask ${kinds['email addresses in texts']}.`,
      image: `registry.example.com/${kinds['digests of images']}${'0'.repeat(60)}`,
      url: `https://${kinds['addresses of apps']}.example.com`,
      env: { [kinds['names of variables']]: kinds['values of variables'] },
    }),
  ],
  functions: [fn()],
  jobs: [job({ schedule: kinds.schedules })],
  services: [service()],
  deployments: [
    deployment({
      app: state,
      commitMessage: kinds['messages of commits'],
      actor: kinds['email addresses of those who deployed'],
    }),
  ],
  more: {
    [`/apps/${state}/secrets`]: list({ name: kinds['names of secrets'], updatedAt: at(0), hasPrevious: false }),
    [`/apps/${state}/git`]: { configured: true, url: `https://${kinds['addresses of repositories']}/shop.git` },
    [`/apps/${state}/logs`]: lines('pod', kinds['log lines']),
    '/jobs/report/run-logs': { run: 'report-1', pods: [{ name: 'report-1-a', log: kinds['logs of runs'] }] },
    [`/deployments/${deployment().id}/logs`]: {
      build: { text: kinds['output of builds'], truncated: false },
      pods: [],
    },
    '/functions/import/dead-letters': list(
      deadLetter(1, kinds['errors of events'], { payload: kinds['content of events'] }),
    ),
    '/api-keys': list(
      key({
        name: kinds['names of plans and keys'],
        createdBy: kinds['email addresses of those who created keys'],
        usage: { allowed: 471_108_150_711, rateDenied: 0, quotaDenied: 0 },
      }),
    ),
  },
});

/** The arguments with which a model finds everything. */
const objects: readonly object[] = [
  { kind: 'app', name: state, app: state, id: deployment().id },
  { kind: 'function', name: 'import', function: 'import' },
  { kind: 'job', name: 'report' },
  { kind: 'service', name: 'orders' },
];

async function leavingAt(level: AssistantLevel): Promise<string[]> {
  const tools = await testTools({ handlers: await replay(() => recorded) });
  let texts = '';
  for (const object of objects) {
    const names = createModelTools({
      tools,
      level,
      project: 'shop',
      caller: toolCaller(),
      recordCall: async () => undefined,
    });
    for (const { name, inputSchema } of names.views) {
      // Each tool on its own, so that no limit of calls hides one.
      const one = createModelTools({
        tools,
        level,
        project: 'shop',
        caller: toolCaller(),
        recordCall: async () => undefined,
      });
      const argumentNames = Object.keys(inputSchema['properties'] as object);
      const args = Object.fromEntries(Object.entries(object).filter(([argument]) => argumentNames.includes(argument)));
      texts += (await one.call({ id: '1', name, arguments: JSON.stringify(args) })).content;
    }
  }
  return Object.entries(kinds).flatMap(([kind, text]) => (texts.includes(text) ? [kind] : []));
}

t.test('what leaves at each level', async (t) => {
  const [names, state, logs] = await Promise.all(assistantLevels.map(leavingAt));
  t.comment(`names: ${names?.join(', ')}`);
  t.same(names, ['names of objects', 'names of secrets', 'names of plans and keys']);
  t.comment(`state: ${state?.join(', ')}`);
  t.same(
    state?.filter((kind) => !names?.includes(kind)),
    [
      ...['names of variables', 'why something does not run', 'images and their registry', 'messages of commits'],
      ...['addresses of repositories', 'addresses of apps', 'schedules', 'usage of keys', 'digests of images'],
    ],
  );
  t.comment(`logs: ${logs?.join(', ')}`);
  t.same(
    logs?.filter((kind) => !state?.includes(kind)),
    [
      ...['log lines', 'logs of runs', 'output of builds', 'errors of events', 'email addresses of those who deployed'],
      ...['email addresses of those who created keys', 'email addresses in texts'],
    ],
  );
  const never = Object.keys(kinds).filter((kind) => !logs?.includes(kind));
  t.same(never, ['values of variables', 'content of events'], 'at no level');
});
