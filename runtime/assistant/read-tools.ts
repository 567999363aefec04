import { revisionWithoutValues } from './revision-names.ts';

/** The kinds of objects that one tool can be about. */
export const toolKinds = ['app', 'function', 'job', 'service'] as const;

export type ToolKind = (typeof toolKinds)[number];

/** A tool that reads: a GET route of the management API, or one for each kind. */
export interface ReadTool {
  name: string;
  /** For a model: what it gets, and when to use it. */
  description: string;
  /** The route's path; `{kind}` stands for each of `kinds`. */
  path: string;
  kinds?: readonly ToolKind[];
  /** Parameters of the query that the tool does not have. */
  without?: readonly string[];
  /** Fields of the result that are left out. */
  hides?: readonly string[];
  /** The part of the reply that the result has; default all. */
  shows?: (body: unknown) => unknown;
  /** Of a list that is too long, the last items are kept: they are the newest. */
  newestLast?: true;
}

const configurable = ['app', 'function', 'job'] as const;
const workload = '/projects/:project/{kind}s/:{kind}';

/**
 * The tools that read. Nothing that reveals a secret is one, and values of variables are hidden in all results
 * (decision 0077). A test compares this list and {@link notTools} with the routes.
 */
export const readTools: readonly ReadTool[] = [
  {
    name: 'whoami',
    path: '/session',
    description:
      'Shows who calls: the user, or the access token with its project, environment, scopes and role. Call it first if you do not know the project.',
  },
  {
    name: 'list_projects',
    path: '/projects',
    description: 'Lists the projects of the user. An access token belongs to one project, which `whoami` shows.',
  },
  { name: 'show_project', path: '/projects/:project', description: 'Shows a project with its environments.' },
  {
    name: 'list_environments',
    path: '/projects/:project/environments',
    description: 'Lists the environments of a project, with their limits and what they use.',
  },
  {
    name: 'list_workloads',
    path: '/projects/:project/{kind}s',
    kinds: [...configurable, 'service'],
    description:
      'Lists the apps, functions, jobs or services of an environment with their status and settings. Services are databases, caches and object stores, shown without credentials.',
  },
  {
    name: 'show_workload',
    path: workload,
    kinds: [...configurable, 'service'],
    description:
      'Shows an app, function, job or service: its status, `message` (why it is not running), replicas, limits and URL. Of variables, it shows the names only.',
  },
  {
    name: 'show_logs',
    path: `${workload}/logs`,
    kinds: configurable,
    newestLast: true,
    description:
      'Shows log lines of an app, function or job, oldest first: the last 200 of each pod in the last hour, unless other arguments are given. Use `search` and `level` to find errors, and `previous` after a crash.',
  },
  {
    name: 'list_runs',
    path: `${workload}/runs`,
    kinds: configurable,
    description:
      'Lists the runs of a job or cron function, or the one-off runs of an app, newest first, each with its outcome.',
  },
  {
    name: 'show_run_log',
    path: `${workload}/run-logs`,
    kinds: configurable,
    description: 'Shows the log of one run of a job, cron function or app; default: of the newest run.',
  },
  {
    name: 'show_metrics',
    path: `${workload}/metrics`,
    kinds: [...configurable, 'service'],
    without: ['step'],
    description:
      'Shows CPU, memory, replicas, restarts and kills for memory over time; for apps and functions also requests, errors and latencies.',
  },
  {
    name: 'list_secret_names',
    path: `${workload}/secrets`,
    kinds: configurable,
    description:
      'Lists the names of the secrets of an app, function or job, and when they changed. No tool shows their values.',
  },
  {
    name: 'list_bindings',
    path: `${workload}/bindings`,
    kinds: configurable,
    description:
      'Lists the services that an app, function or job is bound to, and whether their credentials are ready.',
  },
  {
    name: 'show_gate',
    path: `${workload}/gate`,
    kinds: ['app', 'function'],
    description: 'Shows whether an app or function requires API keys, and how far a change of that is.',
  },
  {
    name: 'list_app_history',
    path: '/projects/:project/apps/:app/history',
    description: 'Lists the deployments of one app, newest first: revision, image, commit, status, and why one failed.',
  },
  {
    name: 'show_revision',
    path: '/projects/:project/apps/:app/revisions/:revision',
    shows: revisionWithoutValues,
    description:
      'Shows a revision of an app: its settings, and what differs from the revision before it, from another one or from the current state of the app. Of variables and secrets, it shows the names only.',
  },
  {
    name: 'list_deployments',
    path: '/projects/:project/deployments',
    description: 'Lists the deployments of all apps of a project, newest first, optionally of one app or status.',
  },
  {
    name: 'show_deployment',
    path: '/projects/:project/deployments/:id',
    description: 'Shows a deployment; `reason` says why it failed, and `rolledBackTo` what runs instead.',
  },
  {
    name: 'show_deployment_log',
    path: '/projects/:project/deployments/:id/logs',
    description:
      'Shows the output of a deployment’s build, and of its pods that still exist. Use it to explain a failed deployment.',
  },
  {
    name: 'list_builds',
    path: '/projects/:project/builds',
    description: 'Lists the builds of a project, newest first. `show_deployment_log` shows the output of one.',
  },
  {
    name: 'show_git_source',
    path: '/projects/:project/apps/:app/git',
    description: 'Shows the repository that an app is built from, and why the last poll failed.',
  },
  {
    name: 'list_webhook_deliveries',
    path: '/projects/:project/apps/:app/webhook/deliveries',
    description: 'Lists what an app’s deploy webhook received, and whether it deployed, and why not.',
  },
  {
    name: 'list_function_events',
    path: '/projects/:project/functions/:function/events',
    description: 'Lists the events of a function that are waiting or being delivered, without their content.',
  },
  {
    name: 'list_dead_letters',
    path: '/projects/:project/functions/:function/dead-letters',
    hides: ['payload'],
    description:
      'Lists the events of a function that could not be delivered, with the last error and without their content.',
  },
  {
    name: 'list_volumes',
    path: '/projects/:project/volumes',
    description: 'Lists volumes, their size, and what mounts them.',
  },
  {
    name: 'list_plans',
    path: '/projects/:project/plans',
    description: 'Lists the usage plans for API keys: rates and quotas.',
  },
  {
    name: 'list_keys',
    path: '/projects/:project/api-keys',
    description:
      'Lists API keys with their handle, plan, status and the totals of their usage. The keys themselves are not stored.',
  },
  {
    name: 'show_key_usage',
    path: '/projects/:project/api-keys/:key/usage',
    description: 'Shows the requests of an API key by day: allowed, denied for its rate, denied for its quota.',
  },
  {
    name: 'list_images',
    path: '/projects/:project/images',
    description: 'Lists the images of builds in the registry, with their size and what needs them.',
  },
  {
    name: 'show_top',
    path: '/projects/:project/top',
    description: 'Shows the current CPU, memory and requests of all workloads of an environment, the busiest first.',
  },
  {
    name: 'show_schedule',
    path: '/schedules/next',
    description: 'Explains a cron expression in words, and shows its next times. Use it before you propose a schedule.',
  },
  {
    name: 'show_gate_change',
    path: '/gate/changes/:version',
    without: ['wait'],
    description:
      'Shows which checkers have applied a change of keys or plans; `version` is in the answer to the change.',
  },
  {
    name: 'show_platform_status',
    path: '/platform/status',
    description: 'Shows the version of the platform and the state of its components.',
  },
  {
    name: 'show_gate_status',
    path: '/gate/status',
    description: 'Shows the state of each checker of API keys. For platform admins.',
  },
  { name: 'list_alerts', path: '/platform/alerts', description: 'Lists the alerts that fire. For platform admins.' },
];

/** The GET routes that are no tools, each with the reason. */
export const notTools: Readonly<Record<string, string>> = {
  '/health': 'says only that the process works',
  '/health/controllers': 'show_platform_status says the same',
  '/functions': 'list_workloads lists the functions of a project, whose secrets can be redacted',
  '/schedules/presets': 'a model knows cron expressions',
  '/platform/alerts/silences': 'list_alerts says which alerts are silenced',
  '/platform/config': 'contains addresses of the installation',
  '/platform/assistant': 'contains an address of the installation',
  '/assistant': 'a model knows what it gets',
  '/projects/:project/assistant/conversations': 'what the user wrote',
  '/projects/:project/assistant/conversations/:conversation': 'what the user wrote',
  '/platform/log-drain': 'contains an address that can hold a token',
  '/platform/notifications': 'contains addresses that can hold tokens',
  '/platform/notifications/:notification': 'contains an address that can hold a token',
  '/platform/notifications/:notification/deliveries': 'contains answers of other servers',
  '/platform/notifications/:notification/deliveries/:delivery': 'contains whole messages',
  '/platform/audit': 'says which user did what',
  '/projects/:project/audit': 'says which user did what',
  '/account/sessions': 'personal data',
  '/users': 'personal data',
  '/users/:user': 'personal data',
  '/projects/:project/members': 'personal data',
  '/projects/:project/tokens': 'says which tokens there are',
  '/projects/:project/tokens/:token': 'says which tokens there are',
  '/projects/:project/notifications': 'contains addresses that can hold tokens',
  '/projects/:project/notifications/:notification': 'contains an address that can hold a token',
  '/projects/:project/notifications/:notification/deliveries': 'contains answers of other servers',
  '/projects/:project/notifications/:notification/deliveries/:delivery': 'contains whole messages',
  '/projects/:project/sources': 'for uploads, which are no tool',
  '/projects/:project/watch': 'a stream',
  '/projects/:project/applied-configurations/:name': 'contains the values of variables',
  '/projects/:project/apps/:app/env': 'contains the values of variables; show_workload shows their names',
  '/projects/:project/functions/:function/env': 'contains the values of variables; show_workload shows their names',
  '/projects/:project/jobs/:job/env': 'contains the values of variables; show_workload shows their names',
  '/projects/:project/apps/:app/secrets/:secret': 'reveals a secret',
  '/projects/:project/functions/:function/secrets/:secret': 'reveals a secret',
  '/projects/:project/jobs/:job/secrets/:secret': 'reveals a secret',
  '/projects/:project/services/:service/credentials': 'reveals credentials',
  '/projects/:project/apps/:app/webhook': 'reveals the webhook token',
  '/projects/:project/apps/:app/webhook/deliveries/:delivery': 'contains the whole message of the sender',
  '/projects/:project/apps/:app/bindings/:service': 'list_bindings shows the same',
  '/projects/:project/functions/:function/bindings/:service': 'list_bindings shows the same',
  '/projects/:project/jobs/:job/bindings/:service': 'list_bindings shows the same',
  '/projects/:project/apps/:app/pods': 'show_workload says how many are ready, and why one is not',
  '/projects/:project/functions/:function/pods': 'show_workload says how many are ready, and why one is not',
  '/projects/:project/apps/:app/runs/:run': 'list_runs shows the same',
  '/projects/:project/functions/:function/runs/:run': 'list_runs shows the same',
  '/projects/:project/jobs/:job/runs/:run': 'list_runs shows the same',
  '/projects/:project/builds/:id/logs': 'show_deployment_log shows the same',
  '/projects/:project/images/:image': 'list_images shows the same',
  '/projects/:project/volumes/:volume': 'list_volumes shows the same',
  '/projects/:project/plans/:plan': 'list_plans shows the same',
  '/projects/:project/api-keys/:key': 'list_keys shows the same',
  '/projects/:project/apps/:app/exec': 'a session in a pod',
  '/projects/:project/functions/:function/exec': 'a session in a pod',
  '/projects/:project/jobs/:job/exec': 'a session in a pod',
  '/projects/:project/apps/:app/run-session': 'a session in a pod',
  '/projects/:project/apps/:app/port-forward': 'a connection to a pod',
  '/projects/:project/services/:service/port-forward': 'a connection to a pod',
};
