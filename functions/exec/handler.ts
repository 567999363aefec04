import { basename } from 'node:path';
import { objectRoutes, type ObjectRoutes } from '../../runtime/api/object-routes.ts';
import { environmentQuery } from '../../runtime/contracts/api/common.ts';
import { execQuery } from '../../runtime/contracts/api/exec.ts';
import { execProtocol, readExecEnd } from '../../runtime/contracts/exec-channels.ts';
import type { App } from '../../runtime/contracts/resources/app.ts';
import type { FunctionResource } from '../../runtime/contracts/resources/function.ts';
import type { JobResource } from '../../runtime/contracts/resources/job.ts';
import type { Clock } from '../../runtime/domain/clock.ts';
import { Problem } from '../../runtime/domain/problem.ts';
import type { Route } from '../../runtime/http/route.ts';
import { KubeError, type KubeClient, type KubeExec } from '../../runtime/kube/kube-client.ts';
import type { WorkloadObject } from '../../runtime/workloads/objects.ts';
import { findRunningPod } from '../../runtime/workloads/running-pods.ts';
import { relayExec } from './relay.ts';

export interface ExecDependencies {
  kube: KubeClient & KubeExec;
  clock: Clock;
  /** How long a session may be silent, in ms. */
  idleMs: number;
}

/** `GET …/exec` of apps, functions and jobs (docs/decisions/0048-exec-and-port-forward.md). */
export function createExecRoutes(dependencies: ExecDependencies): Route[] {
  const { kube } = dependencies;
  return [
    execRoute(objectRoutes<App>(kube, 'App'), dependencies, {
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
  ];
}

function execRoute<T extends WorkloadObject>(
  objects: ObjectRoutes<T>,
  { kube, clock, idleMs }: ExecDependencies,
  { container, action, summary }: { container: string; action: string; summary: string },
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
      const pod = { namespace: environment.namespace, name: metadata.name };
      const parameters = new URLSearchParams({
        container,
        stdin: String(stdin),
        stdout: 'true',
        stderr: String(!tty),
        tty: String(tty),
      });
      for (const word of command) parameters.append('command', word);
      const upstream = await kube.openExec(pod, parameters, signal).catch((error: unknown) => {
        throw refusal(error, pod.name);
      });
      // Until the client's WebSocket is open, nobody reads the messages.
      upstream.pause();
      // Arguments may be secrets, so the log has only the program.
      const program = basename(command[0] ?? '').slice(0, 100);
      return {
        status: 101,
        audit: { pod: pod.name, program, tty },
        useSocket(client) {
          const started = clock.monotonic();
          const serve = async () => {
            const { by, result } = await relayExec(client, upstream, { terminal: tty, idleMs, clock });
            const seconds = Math.round((clock.monotonic() - started) / 1000);
            const end = result && readExecEnd(result);
            const exitCode = end && 'exitCode' in end ? { exitCode: end.exitCode } : {};
            log.info({ action, actor, pod: pod.name, program, by, seconds, ...exitCode }, 'session ended');
          };
          void serve();
          upstream.resume();
        },
      };
    },
  });
}

/** The pod ended since it was listed, or the cluster does not support the protocol. */
function refusal(error: unknown, pod: string): unknown {
  if (!(error instanceof KubeError)) return error;
  if (error.status === 404) return new Problem('not_ready', `The pod "${pod}" has just ended. Try again.`);
  if (error.status === 400 || error.status === 501) {
    const message = `The cluster cannot run the command: ${error.message}. Commands need Kubernetes 1.30 or later.`;
    return new Problem('unavailable', message, { cause: error });
  }
  return error;
}
