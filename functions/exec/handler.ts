import { objectRoutes, type ObjectRoutes } from '../../runtime/api/object-routes.ts';
import { environmentQuery } from '../../runtime/contracts/api/common.ts';
import { execQuery } from '../../runtime/contracts/api/exec.ts';
import { execProtocol } from '../../runtime/contracts/exec-channels.ts';
import type { App } from '../../runtime/contracts/resources/app.ts';
import type { FunctionResource } from '../../runtime/contracts/resources/function.ts';
import type { JobResource } from '../../runtime/contracts/resources/job.ts';
import type { AuditAction } from '../../runtime/domain/audit.ts';
import type { Route } from '../../runtime/http/route.ts';
import type { WorkloadObject } from '../../runtime/workloads/objects.ts';
import { findRunningPod } from '../../runtime/workloads/running-pods.ts';
import { openCommand, programOf } from './command.ts';
import type { ExecDependencies } from './dependencies.ts';
import { loggedEnd, relayExec } from './relay.ts';
import { runSessionRoute } from './run-session.ts';

/**
 * `GET …/exec` of apps, functions and jobs (docs/decisions/0048-exec-and-port-forward.md), and `GET …/run-session` of apps
 * (docs/decisions/0066-sessions-of-runs.md).
 */
export function createExecRoutes(dependencies: ExecDependencies): Route[] {
  const { kube } = dependencies;
  const apps = objectRoutes<App>(kube, 'App');
  return [
    execRoute(apps, dependencies, {
      container: 'app',
      action: 'app.exec',
      summary: 'A WebSocket: runs a command in a pod of an app, with its environment and secrets.',
    }),
    execRoute(objectRoutes<FunctionResource>(kube, 'Function'), dependencies, {
      container: 'function',
      action: 'function.exec',
      summary: 'A WebSocket: runs a command in a pod of a function, with its environment and secrets.',
    }),
    execRoute(objectRoutes<JobResource>(kube, 'Job'), dependencies, {
      container: 'job',
      action: 'job.exec',
      summary: 'A WebSocket: runs a command in the pod of an active run, with its environment.',
    }),
    runSessionRoute(apps, dependencies),
  ];
}

function execRoute<T extends WorkloadObject>(
  objects: ObjectRoutes<T>,
  { kube, clock, idleMs }: ExecDependencies,
  { container, action, summary }: { container: string; action: AuditAction; summary: string },
): Route {
  return objects.route({
    method: 'GET',
    path: '/exec',
    access: { project: 'deployer' },
    summary,
    audit: action,
    query: environmentQuery.extend(execQuery.shape),
    webSocket: execProtocol,
    replies: { 101: null },
    async handle({ query, environment, findLiving, signal, log, actor }) {
      const { command, stdin, tty } = query;
      const { metadata } = await findRunningPod(kube, await findLiving(), { container, pod: query.pod });
      const pod = metadata.name;
      const target = { namespace: environment.namespace, pod, container, command, stdin, tty };
      // Until the client's WebSocket is open, nobody reads the messages.
      const upstream = await openCommand(kube, target, signal);
      const program = programOf(command);
      return {
        status: 101,
        audit: { pod, program, tty },
        useSocket(client) {
          const started = clock.monotonic();
          const serve = async () => {
            const end = await relayExec(client, upstream, { terminal: tty, idleMs, clock });
            const seconds = Math.round((clock.monotonic() - started) / 1000);
            log.info({ action, actor, pod, program, seconds, ...loggedEnd(end) }, 'session ended');
          };
          void serve();
          upstream.resume();
        },
      };
    },
  });
}
