import { functionCreate, functionUpdate, type FunctionCreate } from '../contracts/api/functions.ts';
import { eventsFault } from '../contracts/resources/event-fields.ts';
import {
  eventTypes,
  functionRuntimes,
  functionTriggers,
  type FunctionEvents,
} from '../contracts/resources/function.ts';
import { dependenciesMax, parseDependencies } from '../domain/dependencies.ts';
import { checkWorkloadName } from '../domain/names.ts';
import { Problem } from '../domain/problem.ts';
import { checkTimeZone, parseSchedule } from '../domain/schedule.ts';
import { wrong } from './arguments.ts';
import { option, present, variablesOf, type Args, type WriteTool } from './write-tool.ts';

const code = {
  type: 'string',
  description:
    'The whole source file. Node.js: an ES module that exports `handler(event, context)`; Python: `def handler(event, context)`. Without secrets: it reads them from the environment.',
};
const dependencies = {
  type: 'array',
  items: { type: 'string' },
  maxItems: dependenciesMax,
  description: 'Packages of npm or PyPI, each as name@version with an exact version.',
};
const text = (description: string) => ({ type: 'string', description });

const eventFields = ['source', 'query', 'markDone', 'list', 'bucket'] as const;
const optionNames: Readonly<Record<string, string>> = {
  runtime: '--runtime',
  trigger: '--trigger',
  schedule: '--schedule',
  timeZone: '--time-zone',
  source: '--source',
  query: '--query',
  markDone: '--mark-done',
  list: '--list',
  bucket: '--bucket',
};

/** The code with `\n` after each line, as a shell gives it to a command. */
function codeOf({ code: value }: Args): unknown {
  if (typeof value !== 'string') return value;
  const lines = value.replaceAll('\r\n', '\n');
  return lines === '' || lines.endsWith('\n') ? lines : `${lines}\n`;
}

/** A new function has no packages without a list, too. */
const hasPackages = ({ dependencies: list }: Args) => !Array.isArray(list) || list.length > 0;

function dependencyOptions({ dependencies: list }: Args): string[] {
  return Array.isArray(list) ? list.flatMap((entry) => option('--dependency', entry)) : [];
}

/** The tools that create a function from code, and change its code. The user gets the form of the function with them. */
export const functionTools: readonly WriteTool[] = [
  {
    name: 'create_function',
    description:
      'Creates a function from code, which HTTP requests, a schedule or events of a service call. Use it when the user asks for a new function or cron. Not for secrets, which users set themselves.',
    method: 'POST',
    path: '/projects/:project/functions',
    creates: 'function',
    arguments: {
      function: text('The name of the new function: lower-case letters, digits and hyphens.'),
      runtime: { type: 'string', enum: functionRuntimes, description: 'The runtime of the code.' },
      code,
      dependencies,
      trigger: {
        type: 'string',
        enum: functionTriggers,
        description: 'What calls it (default http). cron needs schedule; the others need source.',
      },
      schedule: text('With cron: an expression with five fields. `show_schedule` explains one.'),
      timeZone: text('With cron: the time zone of the schedule (default Etc/UTC).'),
      source: text('The service whose events call it.'),
      query: text('With postgres and mysql: each row is an event; needs a column id.'),
      markDone: text('With postgres and mysql: the statement that marks the row {{id}} as done.'),
      list: text('With redis: each item is an event.'),
      bucket: text('With minio: each created or deleted object is an event.'),
      variables: {
        type: 'object',
        additionalProperties: { type: 'string' },
        description: 'Environment variables by name, without secrets. ${NAME} in a value refers to another one.',
      },
    },
    required: ['function', 'runtime', 'code'],
    bodyOf: (args) => {
      const events = present(args, eventFields);
      return {
        name: args['function'],
        ...present(args, ['runtime']),
        code: codeOf(args),
        ...(hasPackages(args) && present(args, ['dependencies'])),
        trigger: args['trigger'] ?? 'http',
        ...present(args, ['schedule', 'timeZone']),
        ...(Object.keys(events).length > 0 && { events }),
        ...(args['variables'] !== undefined && { env: variablesOf(args) }),
      };
    },
    check: checkNew,
    commandOf: (args) => ({
      words: ['function', 'create', String(args['function'])],
      options: [
        ...option('--runtime', args['runtime']),
        ...['--code-file', '-'],
        ...dependencyOptions(args),
        ...['trigger', 'schedule', 'timeZone', ...eventFields].flatMap((name) =>
          option(optionNames[name] ?? name, args[name]),
        ),
        ...(args['variables'] === undefined
          ? []
          : Object.entries(variablesOf(args)).flatMap(([name, value]) => option('--env', `${name}=${String(value)}`))),
      ],
      input: String(codeOf(args)),
    }),
  },
  {
    name: 'update_function_code',
    description:
      'Replaces the code of a function, and its packages if they are given. No tool shows the current code: let the user attach it. Other settings stay.',
    method: 'PATCH',
    path: '/projects/:project/functions/:function',
    arguments: { code, dependencies },
    required: ['code'],
    bodyOf: (args) => ({ code: codeOf(args), ...present(args, ['dependencies']) }),
    check: (body) => {
      if (functionUpdate.parse(body).code === undefined) throw wrong('The argument code is missing');
    },
    commandOf: (args, { function: name = '' }) => ({
      words: ['function', 'update', name],
      options: ['--code-file', '-', ...(hasPackages(args) ? dependencyOptions(args) : ['--no-dependencies'])],
      input: String(codeOf(args)),
    }),
  },
];

/** What the API would refuse of a new function, so that the model can correct it before the user sees it. @throws Problem */
function checkNew(body: object): void {
  const { name, runtime, code: source, dependencies: entries = [], ...settings } = functionCreate.parse(body);
  if (runtime === undefined || source === undefined) throw wrong('The arguments runtime and code are needed');
  checkWorkloadName(name, 'function');
  parseDependencies(entries, runtime);
  const { trigger = 'http', schedule, timeZone, events } = settings;
  if (trigger === 'cron') {
    if (schedule === undefined) throw wrong('The trigger cron needs the argument schedule');
    parseSchedule(schedule);
    if (timeZone !== undefined) checkTimeZone(timeZone);
  } else if (schedule !== undefined || timeZone !== undefined) throw wrong('A schedule needs the trigger cron');
  const type = eventTypes.find((each) => each === trigger);
  if (type === undefined && events) throw wrong(`Events need one of the triggers ${eventTypes.join(', ')}`);
  const fault = type && eventsFault({ ...definedOf(events ?? {}), type });
  if (fault) throw new Problem('invalid_value', fault.message, { details: { field: fault.field } });
}

function definedOf(events: NonNullable<FunctionCreate['events']>): Partial<FunctionEvents> {
  return Object.fromEntries(Object.entries(events).filter(([, value]) => value !== undefined));
}
