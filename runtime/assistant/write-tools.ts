import type { Route } from '../http/route.ts';
import { wrong } from './arguments.ts';
import type { ToolRequest } from './call-route.ts';
import { commandText, withInput } from './command-text.ts';
import { functionTools } from './function-tools.ts';
import { option, present, variablesOf, type Args, type WriteTool } from './write-tool.ts';

/** The tools that change something, few and reversible: nothing is deleted, and no secret is set (decision 0077). */
export const writeTools: readonly WriteTool[] = [
  {
    name: 'deploy_image',
    description: 'Deploys an image of an app as a new revision. If it fails, the app is rolled back by itself.',
    method: 'PATCH',
    path: '/projects/:project/apps/:app',
    arguments: {
      image: { type: 'string', description: 'The image with its tag or digest.' },
      commit: { type: 'string', description: 'The commit that the image was built from, for the history.' },
    },
    required: ['image'],
    bodyOf: (args) => present(args, ['image', 'commit']),
    commandOf: ({ image, commit }, { app = '' }) => ({
      words: ['app', 'update', app],
      options: [...option('--image', image), ...option('--commit', commit)],
    }),
  },
  {
    name: 'roll_back_app',
    description:
      'Deploys the image of an earlier revision of an app; default: the last successful one before the current.',
    method: 'POST',
    path: '/projects/:project/apps/:app/rollback',
    arguments: {
      revision: { type: 'integer', minimum: 1, description: 'The revision to go back to.' },
      withConfig: { type: 'boolean', description: 'Whether to restore its variables and settings, too.' },
    },
    bodyOf: (args) => present(args, ['revision', 'withConfig']),
    commandOf: ({ revision, withConfig }, { app = '' }) => ({
      words: ['app', 'rollback', app],
      options: [...option('--revision', revision), ...(withConfig === true ? ['--with-config'] : [])],
    }),
  },
  {
    name: 'restart_workload',
    description: 'Replaces the pods of an app or a function, which then have the latest variables and secrets.',
    method: 'POST',
    path: '/projects/:project/{kind}s/:{kind}/restart',
    kinds: ['app', 'function'],
    arguments: {},
    commandOf: ({ kind }, params) => ({ words: [String(kind), 'restart', params[String(kind)] ?? ''] }),
  },
  {
    name: 'scale_app',
    description: 'Sets the number of pods of an app; 0 stops it.',
    method: 'PATCH',
    path: '/projects/:project/apps/:app',
    scope: 'write',
    arguments: { replicas: { type: 'integer', minimum: 0, maximum: 50, description: 'The number of pods.' } },
    required: ['replicas'],
    bodyOf: (args) => present(args, ['replicas']),
    commandOf: ({ replicas }, { app = '' }) => ({
      words: ['app', 'update', app],
      options: option('--replicas', replicas),
    }),
  },
  {
    name: 'cancel_deployment',
    description: 'Cancels a deployment that is in progress. If its rollout has started, the app is rolled back.',
    method: 'POST',
    path: '/projects/:project/deployments/:id/cancel',
    arguments: {},
    commandOf: (_, { id = '' }) => ({ words: ['deployment', 'cancel', id] }),
  },
  {
    name: 'run_job',
    description: 'Runs a job now. `list_runs` and `show_run_log` show its outcome.',
    method: 'POST',
    path: '/projects/:project/jobs/:job/runs',
    arguments: {},
    commandOf: (_, { job = '' }) => ({ words: ['job', 'run', job] }),
  },
  {
    name: 'set_variables',
    description:
      'Sets variables of an app, function or job, and keeps the others. Running pods get them with `restart_workload`. Not for secrets, which users set themselves.',
    method: 'PATCH',
    path: '/projects/:project/{kind}s/:{kind}/env',
    kinds: ['app', 'function', 'job'],
    arguments: {
      variables: {
        type: 'object',
        additionalProperties: { type: 'string' },
        description: 'Values by name. ${NAME} in a value refers to another variable or a secret.',
      },
    },
    required: ['variables'],
    bodyOf: variablesOf,
    commandOf: (args, params) => ({
      words: [
        String(args['kind']),
        'env',
        'set',
        params[String(args['kind'])] ?? '',
        ...Object.entries(variablesOf(args)).map(([name, value]) => `${name}=${String(value)}`),
      ],
    }),
  },
  {
    name: 'redrive_dead_letters',
    description: 'Delivers dead letters of a function again: those with the given ids, or all.',
    method: 'POST',
    path: '/projects/:project/functions/:function/dead-letters/redrive',
    arguments: {
      ids: { type: 'array', items: { type: 'string' }, description: 'Ids of dead letters (default: all).' },
    },
    bodyOf: ({ ids }) => (ids === undefined ? { all: true } : { ids }),
    commandOf: ({ ids }, params) => ({
      words: ['function', 'dead-letters', 'redrive', params['function'] ?? ''],
      options: Array.isArray(ids) ? ids.flatMap((id) => ['--id', String(id)]) : ['--all'],
    }),
  },
  ...functionTools,
];

/** A request that was not sent, for a model to show. */
export interface PreparedRequest {
  sent: false;
  /** Why it was not sent, and what sends it. */
  reason: string;
  request: { method: string; path: string; body?: object };
  /** Complete, with what it reads from standard input. */
  command: string;
}

/** The command of a prepared request in its parts. */
export interface CommandParts {
  /** One line, unless an argument has several. */
  line: string;
  /** What it reads from standard input. */
  input: string;
}

/** @throws Problem `invalid_request` for a name that a shell command would take for an option */
export function prepare(
  { method, commandOf }: WriteTool,
  { path }: Route,
  args: Args,
  { params, query, body }: ToolRequest,
): { prepared: Omit<PreparedRequest, 'reason'>; parts: CommandParts } {
  const { words, options = [], input } = commandOf(args, params);
  const dashed = words.find((word) => word.startsWith('-'));
  if (dashed !== undefined) throw wrong(`${JSON.stringify(dashed.slice(0, 100))} is not a name`);
  const url = path.replaceAll(/:([A-Za-z]+)/g, (_, name: string) => encodeURIComponent(params[name] ?? ''));
  const search = new URLSearchParams(query).toString();
  const line = commandText([...words, ...options], { project: params['project'], environment: query['environment'] });
  return {
    prepared: {
      sent: false,
      request: { method, path: `/api/v1${url}${search === '' ? '' : `?${search}`}`, ...(body && { body }) },
      command: input === undefined ? line : withInput(line, input),
    },
    parts: { line, input: input ?? '' },
  };
}
