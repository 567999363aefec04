import type { Pool } from 'pg';
import { jobCreate, jobRunView, jobUpdate, jobView } from '../../runtime/contracts/api/jobs.ts';
import type { Stored } from '../../runtime/contracts/kubernetes.ts';
import { jobSpec, type JobResource } from '../../runtime/contracts/resources/job.ts';
import type { Clock } from '../../runtime/domain/clock.ts';
import { newId } from '../../runtime/domain/ids.ts';
import { idLabel } from '../../runtime/domain/labels.ts';
import { Problem } from '../../runtime/domain/problem.ts';
import { bindingRoutes } from '../../runtime/api/binding-routes.ts';
import { checkUsableImage } from '../../runtime/api/image.ts';
import { checkMounts } from '../../runtime/api/mounts.ts';
import { checkQuota } from '../../runtime/api/quota.ts';
import { objectRoutes } from '../../runtime/api/object-routes.ts';
import { newEnvironment } from '../../runtime/api/new-environment.ts';
import type { LogServices } from '../../runtime/api/log-reply.ts';
import { logRoute } from '../../runtime/api/log-routes.ts';
import { runRoutes } from '../../runtime/api/run-routes.ts';
import { secretRoutes } from '../../runtime/api/secret-routes.ts';
import { variableRoutes, type VariableKind } from '../../runtime/api/variable-routes.ts';
import { replacedVariables } from '../../runtime/api/workload-variables.ts';
import { largeBodyLimit } from '../../runtime/http/body.ts';
import { requireScope, type Route } from '../../runtime/http/route.ts';
import type { Environment } from '../../runtime/kube/environments.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import { bindingWait } from '../../runtime/workloads/bindings.ts';
import { readPlatformConfig } from '../../runtime/workloads/platform-config.ts';
import { checkJob } from './check.ts';
import { patchJob, type JobChange } from './store.ts';
import { jobRuns, jobToView } from './view.ts';

export interface JobDependencies {
  kube: KubeClient;
  pool: Pool;
  clock: Clock;
  /** The log store and the limits of reading logs. */
  logs?: LogServices | undefined;
  /** The public address of the management API. */
  baseUrl: string;
}

/** `/projects/{project}/jobs`: Job objects, which the Job controller reconciles. */
export function createJobRoutes(dependencies: JobDependencies): Route[] {
  const { kube, pool, clock } = dependencies;
  const jobs = objectRoutes<JobResource>(kube, 'Job');
  const variables: VariableKind<JobResource> = {
    phrase: 'a job',
    effect: 'from the next run',
    isRestartPending: () => Promise.resolve(false),
    // No controller may watch Secrets, so a change of the spec starts a reconcile.
    onSecretChange: async (job) => void (await patchJob(kube, job, { secretsRevision: newId() })),
  };
  const viewer = (environment: Environment) => (job: Stored<JobResource>) => jobToView(job, environment, clock.now());

  return [
    ...jobs.collection({
      view: jobView,
      viewer,
      create: {
        summary: 'Creates a job that runs on demand, and on its schedule if it has one.',
        body: jobCreate,
        bodyLimit: largeBodyLimit,
        async prepare({ body, environment }) {
          const { name, env, secrets, bindings, ...settings } = body;
          const requested = { name, env, secrets, bindings };
          const resolved = await newEnvironment<JobResource>(dependencies, 'Job', environment, requested);
          const spec = jobSpec.parse({ ...settings, ...resolved.spec });
          checkJob(spec);
          await checkQuota(kube, environment, spec);
          await checkUsableImage({ kube, pool }, await readPlatformConfig(kube), environment, spec.image);
          await checkMounts(kube, environment.namespace, spec.volumes ?? []);
          return { spec, annotations: resolved.annotations, complete: resolved.storeSecrets };
        },
      },
      list: { summary: 'Lists the jobs of an environment by name.' },
      read: { summary: 'Shows a job.' },
      delete: { summary: 'Deletes a job, its runs and their logs. 202 while the deletion is in progress.' },
    }),
    jobs.route({
      method: 'PATCH',
      path: '',
      access: { project: 'deployer', scope: 'deploy' },
      summary:
        'Changes a job. Runs that start later use the new settings. An access token needs the scope `write` for all but the image.',
      audit: 'job.update',
      body: jobUpdate,
      bodyLimit: largeBodyLimit,
      replies: { 200: jobView },
      async handle(request) {
        const { body, environment, findLiving } = request;
        const fields = Object.keys(body);
        if (fields.length === 0) throw new Problem('invalid_request', 'The request changes nothing. Set a field.');
        if (fields.some((field) => field !== 'image')) requireScope(request, 'write', 'Changing settings');
        const { env, ...settings } = body;
        const current = await findLiving();
        const list = env && (await replacedVariables(kube, current, env));
        const change = withoutUndefined({ ...settings, env: env === null ? null : list });
        checkJob(withoutNull(change));
        if (change.memory !== undefined) await checkQuota(kube, environment, { memory: change.memory });
        if (body.image !== undefined) {
          await checkUsableImage({ kube, pool }, await readPlatformConfig(kube), environment, body.image);
        }
        await checkMounts(kube, environment.namespace, change.volumes ?? []);
        const job = await patchJob(kube, current, change);
        return { status: 200, body: viewer(environment)(job), audit: { fields } };
      },
    }),
    ...runRoutes<JobResource>(jobs, dependencies, {
      kind: 'Job',
      start: {
        path: '/runs',
        summary: 'Starts a run now, independent of the schedule and of active runs.',
        audit: 'job.run',
      },
      list: { summary: 'Lists a job’s active and recent runs, newest first.' },
      read: { summary: 'Shows a run of a job.' },
      logs: {
        path: '/run-logs',
        summary:
          'Shows the log of a run, by default the newest. With `follow`, streams JSON lines until the run has ended.',
      },
      container: 'job',
      view: jobRunView,
      runName: (job, id) => `${job}-${id}`,
      runsOf: jobRuns,
      startHint: (job) => `svc job run ${job}`,
      checkStart: checkBindings,
    }),
    logRoute(jobs, dependencies, {
      kind: 'job',
      container: 'job',
      podsOf: (id) => `${idLabel}=${id}`,
      summary: 'Shows the logs of a job’s stored runs, by time. With `follow`, streams JSON lines, also of later runs.',
    }),
    ...bindingRoutes(jobs, dependencies, { phrase: 'a job' }),
    ...variableRoutes(jobs, { kube }, variables),
    ...secretRoutes(jobs, { kube, clock }, variables),
  ];
}

/** A run waits for a binding that is being created, but not for one that failed. @throws Problem `not_ready` */
function checkBindings(job: Stored<JobResource>): void {
  const wait = bindingWait(job);
  if (!wait?.failed) return;
  const { name } = job.metadata;
  throw new Problem('not_ready', `The job "${name}" cannot run. ${wait.message} See \`svc job bindings ${name}\`.`);
}

/** An absent field does not change; null removes a setting. */
function withoutUndefined(change: { [Field in keyof JobChange]: JobChange[Field] | undefined }): JobChange {
  return Object.fromEntries(Object.entries(change).filter(([, value]) => value !== undefined));
}

function withoutNull(change: JobChange): Parameters<typeof checkJob>[0] {
  return Object.fromEntries(Object.entries(change).filter(([, value]) => value !== null));
}
