import { includesLevel, type AssistantLevel } from '../domain/assistant.ts';
import type { ToolView } from './tools.ts';

/**
 * The level at which the assistant has a tool; null: at none. Writes only prepare a request, which names no more than the
 * model did. A test compares this list with the tools.
 */
export const toolLevels: Readonly<Record<string, AssistantLevel | null>> = {
  // The question says which project it is about, and the result would be personal data.
  whoami: null,
  list_projects: 'names',
  list_environments: 'names',
  list_workloads: 'names',
  list_secret_names: 'names',
  list_volumes: 'names',
  list_plans: 'names',
  list_keys: 'names',
  list_images: 'names',
  show_schedule: 'names',
  show_project: 'state',
  show_workload: 'state',
  list_runs: 'state',
  show_metrics: 'state',
  list_bindings: 'state',
  show_gate: 'state',
  list_app_history: 'state',
  show_revision: 'state',
  list_deployments: 'state',
  show_deployment: 'state',
  list_builds: 'state',
  show_git_source: 'state',
  list_webhook_deliveries: 'state',
  list_function_events: 'state',
  show_key_usage: 'state',
  show_top: 'state',
  show_gate_change: 'state',
  show_platform_status: 'state',
  show_gate_status: 'state',
  list_alerts: 'state',
  show_logs: 'logs',
  show_run_log: 'logs',
  show_deployment_log: 'logs',
  // With the last error, which the function printed.
  list_dead_letters: 'logs',
  deploy_image: 'names',
  roll_back_app: 'names',
  restart_workload: 'names',
  scale_app: 'names',
  cancel_deployment: 'names',
  run_job: 'names',
  set_variables: 'names',
  redrive_dead_letters: 'names',
  create_function: 'names',
  update_function_code: 'names',
};

/** The fields of a result at the level `names`. */
const nameFields: ReadonlySet<string> = new Set([
  'items',
  'nextCursor',
  'id',
  'name',
  'handle',
  'kind',
  'project',
  'environment',
  'environments',
  'app',
  'function',
  'job',
  'service',
  'plan',
]);

/** Of a schedule, which is no object of the platform, everything is kept. */
const complete: ReadonlySet<string> = new Set(['show_schedule']);

/** The tools of a level, in their order. */
export function toolsAtLevel(tools: readonly ToolView[], level: AssistantLevel): ToolView[] {
  return tools.filter(({ name }) => {
    const needed = toolLevels[name] ?? null;
    return needed !== null && includesLevel(level, needed);
  });
}

/** The fields of a tool's result that a level sends; undefined for all. */
export function fieldsAtLevel(tool: string, level: AssistantLevel): ReadonlySet<string> | undefined {
  return level === 'names' && !complete.has(tool) ? nameFields : undefined;
}

/** What the levels send, for people; the first sentences are of all levels. */
export const sentAtLevel: Readonly<Record<AssistantLevel, readonly string[]>> = {
  names: [
    'your questions, the files that you attach, and which page you look at',
    'names of projects, environments, apps, functions, jobs, services, volumes, plans, keys, images and secrets',
  ],
  state: ['status, settings without values of variables, deployments with their commits, metrics, usage and alerts'],
  logs: ['log lines, output of builds, errors of events, and email addresses of users'],
};
