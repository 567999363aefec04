import type { Stored } from '../../runtime/contracts/kubernetes.ts';
import type { FunctionResource } from '../../runtime/contracts/resources/function.ts';
import { kinds } from '../../runtime/contracts/resources/kinds.ts';
import { testRunName } from '../../runtime/domain/names.ts';
import { Problem } from '../../runtime/domain/problem.ts';
import { pageOf } from '../../runtime/host/page.ts';
import { route, sessionOf, type Route } from '../../runtime/host/route.ts';
import { runLogAnswer } from '../../runtime/host/run-log-answer.ts';
import { requestRun } from '../../runtime/host/run-requests.ts';
import { runPageKey } from '../../runtime/host/run-views.ts';
import { getLivingWorkload, getWorkload, workloadIdOf } from '../../runtime/host/workload-objects.ts';
import { resolveEnvironment, type Environment } from '../../runtime/kube/environments.ts';
import type { FunctionDependencies } from './handler.ts';
import { functionRunLogsSchema, getRunSchema, listRunsSchema, testRunSchema } from './schema.ts';
import { functionRuns } from './view.ts';

const tag = 'functions';
const path = '/projects/:project/functions/:function';

/** What concerns the runs of cron functions: those of the schedule, and test runs. */
export function runRoutes({ kube, clock, baseUrl }: Omit<FunctionDependencies, 'visibleProjects'>): Route[] {
  const find = async (environment: Environment, name: string) =>
    runnable(await getWorkload<FunctionResource>(kube, 'Function', environment, name));

  return [
    route({
      ...testRunSchema,
      method: 'POST',
      path: `${path}/test-runs`,
      access: { project: 'deployer' },
      tag,
      summary: 'Runs a cron function once, now, as its schedule would; the run is removed ten minutes after its end.',
      async handle(request) {
        const { params, query, log } = request;
        const environment = await resolveEnvironment(kube, params.project, query.environment);
        const living = async () =>
          runnable(await getLivingWorkload<FunctionResource>(kube, 'Function', environment, params.function));
        const by = sessionOf(request).email;
        const run = testRunName(params.function, await requestRun(kube, living, { at: clock.now(), by }));
        const { project, namespace, environment: name } = environment;
        log.info({ function: params.function, namespace, run, actor: by }, 'test run requested');
        const runs = `${baseUrl}/api/v1/projects/${project}/functions/${params.function}/runs`;
        const statusUrl = `${runs}/${run}?environment=${name}`;
        return { status: 202, headers: { Location: statusUrl }, body: { id: run, status: 'pending', statusUrl } };
      },
    }),
    route({
      ...listRunsSchema,
      method: 'GET',
      path: `${path}/runs`,
      access: { project: 'viewer' },
      tag,
      summary: 'Lists the runs of a cron function that are kept, newest first.',
      async handle({ params, query }) {
        const environment = await resolveEnvironment(kube, params.project, query.environment);
        const runs = functionRuns(await find(environment, params.function));
        return { status: 200, body: pageOf(runs, runPageKey, query) };
      },
    }),
    route({
      ...getRunSchema,
      method: 'GET',
      path: `${path}/runs/:run`,
      access: { project: 'viewer' },
      tag,
      summary: 'Shows a run of a cron function.',
      async handle({ params, query }) {
        const environment = await resolveEnvironment(kube, params.project, query.environment);
        return { status: 200, body: runOf(await find(environment, params.function), params.run) };
      },
    }),
    route({
      ...functionRunLogsSchema,
      method: 'GET',
      path: `${path}/run-logs`,
      access: { project: 'viewer' },
      tag,
      summary:
        'Shows what a run of a cron function printed: the newest one, or the one that is named; with `follow` as lines of JSON that go on until it has ended.',
      async handle(request) {
        const { params, query } = request;
        const environment = await resolveEnvironment(kube, params.project, query.environment);
        const { namespace } = environment;
        const found = await find(environment, params.function);
        const { name: run } = runOf(found, query.run);
        const look = async () => {
          const now = await kube.get<FunctionResource>(kinds.Function, params.function, namespace);
          return now && functionRuns(now).find(({ name }) => name === run);
        };
        const logged = { namespace, workloadId: workloadIdOf(found), run, container: 'function', look };
        return runLogAnswer({ kube, clock }, logged, request);
      },
    }),
  ];
}

/** @throws Problem `invalid_value` for a function that requests call */
function runnable(found: Stored<FunctionResource>): Stored<FunctionResource> {
  if (found.spec.trigger === 'cron') return found;
  const { name } = found.metadata;
  const { trigger } = found.spec;
  const instead = trigger === 'http' ? 'call it at its URL' : `its events: svc function events ${name}`;
  throw new Problem(
    'invalid_value',
    `The function "${name}" has the trigger ${trigger}, and only cron functions have runs; ${instead}.`,
    { details: { field: 'trigger' } },
  );
}

/** The run of a name, or the newest. @throws Problem `not_found` */
function runOf(found: Stored<FunctionResource>, run: string | undefined) {
  const runs = functionRuns(found);
  const shown = run === undefined ? runs[0] : runs.find(({ name }) => name === run);
  if (shown) return shown;
  const { name } = found.metadata;
  const missing =
    run === undefined
      ? `has not run yet; try it with \`svc function test ${name}\``
      : `has no run "${run}"; list them with \`svc function runs ${name}\``;
  throw new Problem('not_found', `The function "${name}" ${missing}.`);
}
