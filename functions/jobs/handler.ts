import { jobCreate, jobRunView, jobUpdate, jobView } from '../../runtime/contracts/api/jobs.ts';
import type { Stored } from '../../runtime/contracts/kubernetes.ts';
import { jobSpec, type JobResource } from '../../runtime/contracts/resources/job.ts';
import type { Clock } from '../../runtime/domain/clock.ts';
import { Problem } from '../../runtime/domain/problem.ts';
import { checkUsableImage } from '../../runtime/api/image.ts';
import { checkMounts } from '../../runtime/api/mounts.ts';
import { checkQuota } from '../../runtime/api/quota.ts';
import { objectRoutes } from '../../runtime/api/object-routes.ts';
import { runRoutes } from '../../runtime/api/run-routes.ts';
import { largeBodyLimit } from '../../runtime/http/body.ts';
import { requireScope, type Route } from '../../runtime/http/route.ts';
import type { Environment } from '../../runtime/kube/environments.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import { readPlatformConfig } from '../../runtime/workloads/platform-config.ts';
import { checkJob } from './check.ts';
import { patchJob, type JobChange } from './store.ts';
import { jobRuns, jobToView } from './view.ts';

export interface JobDependencies {
  kube: KubeClient;
  clock: Clock;
  /** The public address of the management API. */
  baseUrl: string;
}

/** `/projects/{project}/jobs`: Job objects, which the Job controller reconciles. */
export function createJobRoutes(dependencies: JobDependencies): Route[] {
  const { kube, clock } = dependencies;
  const jobs = objectRoutes<JobResource>(kube, 'Job');
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
          const { name: _, env, ...settings } = body;
          const spec = jobSpec.parse({ ...settings, ...(env && { env: variableList(env) }) });
          checkJob(spec);
          await checkQuota(kube, environment, spec);
          await checkUsableImage(kube, await readPlatformConfig(kube), environment, spec.image);
          await checkMounts(kube, environment.namespace, spec.volumes ?? []);
          return { spec };
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
        const change = withoutUndefined({ ...settings, env: env && variableList(env) });
        checkJob(withoutNull(change));
        if (change.memory !== undefined) await checkQuota(kube, environment, { memory: change.memory });
        if (body.image !== undefined) {
          await checkUsableImage(kube, await readPlatformConfig(kube), environment, body.image);
        }
        await checkMounts(kube, environment.namespace, change.volumes ?? []);
        const job = await patchJob(kube, await findLiving(), change);
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
        path: '/logs',
        summary:
          'Shows the log of a run, by default the newest. With `follow`, streams JSON lines until the run has ended.',
      },
      container: 'job',
      view: jobRunView,
      runName: (job, id) => `${job}-${id}`,
      runsOf: jobRuns,
      startHint: (job) => `svc job run ${job}`,
    }),
  ];
}

function variableList(env: Readonly<Record<string, string>>): { name: string; value: string }[] {
  return Object.entries(env).map(([name, value]) => ({ name, value }));
}

/** An absent field does not change; null removes a setting. */
function withoutUndefined(change: { [Field in keyof JobChange]: JobChange[Field] | undefined }): JobChange {
  return Object.fromEntries(Object.entries(change).filter(([, value]) => value !== undefined));
}

function withoutNull(change: JobChange): Parameters<typeof checkJob>[0] {
  return Object.fromEntries(Object.entries(change).filter(([, value]) => value !== null));
}
