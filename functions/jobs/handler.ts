import type { Stored } from '../../runtime/contracts/kubernetes.ts';
import { jobSpec, type JobResource } from '../../runtime/contracts/resources/job.ts';
import { kinds } from '../../runtime/contracts/resources/kinds.ts';
import type { Clock } from '../../runtime/domain/clock.ts';
import { checkWorkloadName } from '../../runtime/domain/names.ts';
import { Problem } from '../../runtime/domain/problem.ts';
import { checkMounts } from '../../runtime/host/mounts.ts';
import { pageOf } from '../../runtime/host/page.ts';
import { route, sessionOf, type Route } from '../../runtime/host/route.ts';
import { runLogAnswer } from '../../runtime/host/run-log-answer.ts';
import { requestRun } from '../../runtime/host/run-requests.ts';
import { runPageKey } from '../../runtime/host/run-views.ts';
import { createWorkload, newWorkloadMetadata } from '../../runtime/host/workload-create.ts';
import { deleteWorkload, getLivingWorkload, getWorkload, workloadIdOf } from '../../runtime/host/workload-objects.ts';
import { resolveEnvironment, type Environment } from '../../runtime/kube/environments.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import { checkJob } from './check.ts';
import { loggedRun } from './logs.ts';
import {
  createJobSchema,
  deleteJobSchema,
  getJobSchema,
  getRunSchema,
  jobLogsSchema,
  listJobsSchema,
  listRunsSchema,
  runJobSchema,
  updateJobSchema,
} from './schema.ts';
import { patchJob, type JobChange } from './store.ts';
import { jobRuns, jobToView } from './view.ts';

export interface JobDependencies {
  kube: KubeClient;
  clock: Clock;
  /** The public address of the management API. */
  baseUrl: string;
}

const tag = 'jobs';
const collection = '/projects/:project/jobs';
const path = `${collection}/:job`;

/** `/projects/{p}/jobs`: Job objects, whose controller does the rest. */
export function createJobRoutes({ kube, clock, baseUrl }: JobDependencies): Route[] {
  const find = (environment: Environment, name: string) => getWorkload<JobResource>(kube, 'Job', environment, name);
  const view = (job: Stored<JobResource>, environment: Environment) => jobToView(job, environment, clock.now());

  return [
    route({
      ...createJobSchema,
      method: 'POST',
      path: collection,
      access: { project: 'deployer' },
      tag,
      summary: 'Creates a job, which runs when asked to or on its schedule.',
      async handle(request) {
        const { params, query, body, log } = request;
        const { name, env, ...given } = body;
        checkWorkloadName(name);
        const spec = jobSpec.parse({ ...given, ...(env && { env: listOf(env) }) });
        checkJob(spec);
        const environment = await resolveEnvironment(kube, params.project, query.environment);
        await checkMounts(kube, environment.namespace, spec.volumes ?? []);
        const { apiVersion, kind } = kinds.Job;
        const metadata = newWorkloadMetadata('Job', name, environment);
        const created = await createWorkload(kube, { apiVersion, kind, metadata, spec } as JobResource, {
          environment,
        });
        log.info({ job: name, namespace: environment.namespace, actor: sessionOf(request).email }, 'job created');
        return { status: 201, body: view(created, environment) };
      },
    }),
    route({
      ...listJobsSchema,
      method: 'GET',
      path: collection,
      access: { project: 'viewer' },
      tag,
      summary: 'Lists the jobs of an environment by name.',
      async handle({ params, query }) {
        const environment = await resolveEnvironment(kube, params.project, query.environment);
        const { items } = await kube.list<JobResource>(kinds.Job, { namespace: environment.namespace });
        const page = pageOf(items, ({ metadata }) => metadata.name, query);
        return { status: 200, body: { ...page, items: page.items.map((job) => view(job, environment)) } };
      },
    }),
    route({
      ...getJobSchema,
      method: 'GET',
      path,
      access: { project: 'viewer' },
      tag,
      summary: 'Shows a job.',
      async handle({ params, query }) {
        const environment = await resolveEnvironment(kube, params.project, query.environment);
        return { status: 200, body: view(await find(environment, params.job), environment) };
      },
    }),
    route({
      ...updateJobSchema,
      method: 'PATCH',
      path,
      access: { project: 'deployer' },
      tag,
      summary: 'Changes a job; runs that are made from then on have the change.',
      async handle(request) {
        const { params, query, body, log } = request;
        if (Object.keys(body).length === 0) throw new Problem('invalid_request', 'Give what to change.');
        const { env, ...given } = body;
        const change = defined({ ...given, env: env && listOf(env) });
        checkJob(withoutNull(change));
        const environment = await resolveEnvironment(kube, params.project, query.environment);
        await checkMounts(kube, environment.namespace, change.volumes ?? []);
        const job = await getLivingWorkload<JobResource>(kube, 'Job', environment, params.job);
        const changed = await patchJob(kube, job, change);
        const actor = sessionOf(request).email;
        log.info(
          { job: params.job, namespace: environment.namespace, fields: Object.keys(body), actor },
          'job changed',
        );
        return { status: 200, body: view(changed, environment) };
      },
    }),
    route({
      ...deleteJobSchema,
      method: 'DELETE',
      path,
      access: { project: 'deployer' },
      tag,
      summary: 'Deletes a job, its runs and their logs; 202 while that goes on.',
      async handle(request) {
        const { params, query, log } = request;
        const environment = await resolveEnvironment(kube, params.project, query.environment);
        const left = await deleteWorkload(kube, await find(environment, params.job));
        log.info({ job: params.job, namespace: environment.namespace, actor: sessionOf(request).email }, 'job deleted');
        return left ? { status: 202, body: view(left, environment) } : { status: 204 };
      },
    }),
    route({
      ...runJobSchema,
      method: 'POST',
      path: `${path}/runs`,
      access: { project: 'deployer' },
      tag,
      summary: 'Runs a job now, whatever its schedule says and whether or not a run of it goes on.',
      async handle(request) {
        const { params, query, log } = request;
        const environment = await resolveEnvironment(kube, params.project, query.environment);
        const living = () => getLivingWorkload<JobResource>(kube, 'Job', environment, params.job);
        const by = sessionOf(request).email;
        const run = `${params.job}-${await requestRun(kube, living, { at: clock.now(), by })}`;
        log.info({ job: params.job, namespace: environment.namespace, run, actor: by }, 'job run requested');
        const { project, environment: name } = environment;
        const statusUrl = `${baseUrl}/api/v1/projects/${project}/jobs/${params.job}/runs/${run}?environment=${name}`;
        return { status: 202, headers: { Location: statusUrl }, body: { id: run, status: 'pending', statusUrl } };
      },
    }),
    route({
      ...listRunsSchema,
      method: 'GET',
      path: `${path}/runs`,
      access: { project: 'viewer' },
      tag,
      summary: 'Lists the runs of a job that are kept, newest first.',
      async handle({ params, query }) {
        const environment = await resolveEnvironment(kube, params.project, query.environment);
        const runs = jobRuns(await find(environment, params.job));
        return { status: 200, body: pageOf(runs, runPageKey, query) };
      },
    }),
    route({
      ...getRunSchema,
      method: 'GET',
      path: `${path}/runs/:run`,
      access: { project: 'viewer' },
      tag,
      summary: 'Shows a run of a job.',
      async handle({ params, query }) {
        const environment = await resolveEnvironment(kube, params.project, query.environment);
        const run = jobRuns(await find(environment, params.job)).find(({ name }) => name === params.run);
        if (!run) throw new Problem('not_found', `The job "${params.job}" has no run "${params.run}".`);
        return { status: 200, body: run };
      },
    }),
    route({
      ...jobLogsSchema,
      method: 'GET',
      path: `${path}/logs`,
      access: { project: 'viewer' },
      tag,
      summary:
        'Shows what a run printed: the newest one, or the one that is named; with `follow` as lines of JSON that go on until it has ended.',
      async handle(request) {
        const { params, query } = request;
        const environment = await resolveEnvironment(kube, params.project, query.environment);
        const job = await find(environment, params.job);
        const run = loggedRun(job, query.run);
        const look = async () => {
          const now = await kube.get<JobResource>(kinds.Job, params.job, environment.namespace);
          return now && jobRuns(now).find(({ name }) => name === run);
        };
        const logged = { namespace: environment.namespace, workloadId: workloadIdOf(job), run, container: 'job', look };
        return runLogAnswer({ kube, clock }, logged, request);
      },
    }),
  ];
}

function listOf(env: Readonly<Record<string, string>>): { name: string; value: string }[] {
  return Object.entries(env).map(([name, value]) => ({ name, value }));
}

/** Only what was given: absent fields stay as they are, and null removes. */
function defined(change: { [Field in keyof JobChange]: JobChange[Field] | undefined }): JobChange {
  return Object.fromEntries(Object.entries(change).filter(([, value]) => value !== undefined));
}

function withoutNull(change: JobChange): Parameters<typeof checkJob>[0] {
  return Object.fromEntries(Object.entries(change).filter(([, value]) => value !== null));
}
