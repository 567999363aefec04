import type { z } from 'zod';
import { environmentQuery, page, pageQuery } from '../contracts/api/common.ts';
import { logsQuery, runAccepted, runLogs } from '../contracts/api/runs.ts';
import type { Stored } from '../contracts/kubernetes.ts';
import type { App } from '../contracts/resources/app.ts';
import type { FunctionResource } from '../contracts/resources/function.ts';
import type { JobResource } from '../contracts/resources/job.ts';
import type { RunRequest } from '../contracts/resources/run.ts';
import type { AuditAction } from '../domain/audit.ts';
import type { Clock } from '../domain/clock.ts';
import { Problem } from '../domain/problem.ts';
import { pageOf } from '../http/page.ts';
import type { Route } from '../http/route.ts';
import type { KubeClient } from '../kube/kube-client.ts';
import { resourceByKind, workloadIdOf } from '../workloads/objects.ts';
import type { ObjectRoutes } from './object-routes.ts';
import { runLogReply } from './run-log-reply.ts';
import { requestRun } from './run-requests.ts';
import { runPageKey, type RunView } from './run-views.ts';

type Runnable = App | JobResource | FunctionResource;

/** How one kind of workload runs. */
export interface RunKind<T extends Runnable, Body extends z.ZodType = z.ZodType> {
  kind: T['kind'];
  /** The route that starts a run, below the workload's path. */
  start: { path: string; summary: string; audit: AuditAction; body?: Body };
  /** The request with what the body asks for; default: the body asks for nothing. */
  requestOf?: (request: RunRequest, body: z.output<Body>) => RunRequest;
  list: { summary: string };
  read: { summary: string };
  logs: { path: string; summary: string };
  /** The container whose log a run has. */
  container: string;
  view: z.ZodType;
  /** The name of a run that was requested under this id. */
  runName: (workload: string, requestId: string) => string;
  /** The runs, newest first. */
  runsOf: (workload: Stored<T>) => RunView<string>[];
  /** How to start the first run, for a message. */
  startHint: (workload: string) => string;
  /** @throws Problem for a workload that has no runs */
  check?: (workload: Stored<T>) => void;
  /** @throws Problem for a workload whose runs cannot start */
  checkStart?: (workload: Stored<T>) => void;
}

interface RunRouteDependencies {
  kube: KubeClient;
  clock: Clock;
  /** The public address of the management API. */
  baseUrl: string;
}

/** Starts, lists, shows and logs the runs of an app, a job or a cron function. */
export function runRoutes<T extends Runnable, Body extends z.ZodType = z.ZodType>(
  objects: ObjectRoutes<T>,
  { kube, clock, baseUrl }: RunRouteDependencies,
  options: RunKind<T, Body>,
): Route[] {
  const { kind, start, list, read, logs, container, view, runName, runsOf, startHint } = options;
  const { check, checkStart, requestOf } = options;
  const what = kind.toLowerCase();
  const checked = async (find: () => Promise<Stored<T>>) => {
    const workload = await find();
    check?.(workload);
    return workload;
  };
  /** The run of a name, or the newest. @throws Problem `not_found` */
  const runOf = (workload: Stored<T>, run: string | undefined) => {
    const runs = runsOf(workload);
    const match = run === undefined ? runs[0] : runs.find(({ name }) => name === run);
    if (match) return match;
    const { name } = workload.metadata;
    const reason =
      run === undefined
        ? `has not run yet. Start it with \`${startHint(name)}\``
        : `has no run "${run}". List its runs with \`svc ${what} runs ${name}\``;
    throw new Problem('not_found', `The ${what} "${name}" ${reason}.`);
  };

  return [
    objects.route({
      ...start,
      method: 'POST',
      access: { project: 'deployer', scope: 'deploy' },
      replies: { 202: runAccepted },
      async handle({ body, environment, name, actor, findLiving }) {
        const findStartable = async () => {
          const workload = await checked(findLiving);
          checkStart?.(workload);
          return workload;
        };
        const id = await requestRun(kube, findStartable, {
          at: clock.now(),
          by: actor,
          ...(requestOf && { complete: (request) => requestOf(request, body) }),
        });
        const run = runName(name, id);
        const path = `projects/${environment.project}/${what}s/${name}/runs/${run}?environment=${environment.environment}`;
        const statusUrl = `${baseUrl}/api/v1/${path}`;
        const accepted = { id: run, status: 'pending', statusUrl };
        return { status: 202, headers: { Location: statusUrl }, body: accepted, audit: { run } };
      },
    }),
    objects.route({
      ...list,
      method: 'GET',
      path: '/runs',
      access: { project: 'viewer', scope: 'read' },
      query: environmentQuery.extend(pageQuery.shape),
      replies: { 200: page(view) },
      async handle({ query, find }) {
        const runs = runsOf(await checked(find));
        return { status: 200, body: pageOf(runs, runPageKey(runs), query) };
      },
    }),
    objects.route({
      ...read,
      method: 'GET',
      path: '/runs/:run',
      access: { project: 'viewer', scope: 'read' },
      replies: { 200: view },
      async handle({ params, find }) {
        return { status: 200, body: runOf(await checked(find), params.run) };
      },
    }),
    objects.route({
      ...logs,
      method: 'GET',
      access: { project: 'viewer', scope: 'logs:read' },
      query: environmentQuery.extend(logsQuery.shape),
      replies: { 200: runLogs },
      async handle(request) {
        const { query, environment, name, find } = request;
        const { namespace } = environment;
        const workload = await checked(find);
        const { name: run } = runOf(workload, query.run);
        const findRun = async () => {
          const current = await kube.get<T>(resourceByKind[kind], name, namespace);
          return current && runsOf(current).find((entry) => entry.name === run);
        };
        const source = { namespace, workloadId: workloadIdOf(workload), run, container, findRun };
        return runLogReply({ kube, clock }, source, request);
      },
    }),
  ];
}
