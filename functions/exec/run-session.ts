import type { WebSocket } from 'ws';
import { checkCommand, requireRelease } from '../../runtime/api/app-commands.ts';
import type { ObjectRoutes } from '../../runtime/api/object-routes.ts';
import { newRunId, requestRun, stopRun } from '../../runtime/api/run-requests.ts';
import { environmentQuery } from '../../runtime/contracts/api/common.ts';
import { runSessionQuery } from '../../runtime/contracts/api/exec.ts';
import { channelMessage, execChannels, execProtocol } from '../../runtime/contracts/exec-channels.ts';
import type { App } from '../../runtime/contracts/resources/app.ts';
import { kinds } from '../../runtime/contracts/resources/kinds.ts';
import { sessionCodes } from '../../runtime/contracts/session-codes.ts';
import { Problem } from '../../runtime/domain/problem.ts';
import { problemOf } from '../../runtime/http/errors.ts';
import type { Route } from '../../runtime/http/route.ts';
import { sessionAnnotation } from '../../runtime/workloads/run-sessions.ts';
import { openCommand, programOf } from './command.ts';
import { holdMessages } from './early-messages.ts';
import type { ExecDependencies } from './dependencies.ts';
import { loggedEnd, relayExec, type RelayEnd } from './relay.ts';
import { isStopped, runContainer, stoppedText, waitForRunPod } from './run-pod.ts';
import { renewSession, type SessionRenewal } from './session-renewal.ts';

const action = 'app.run';
/** Pauses between attempts to stop a run while the API server does not answer, in ms. The run has a time limit as well. */
const stopPausesMs = [500, 1_000, 2_000, 4_000];

/** `GET …/run-session` (docs/decisions/0066-sessions-of-runs.md). */
export function runSessionRoute(apps: ObjectRoutes<App>, dependencies: ExecDependencies): Route {
  const { kube, clock, idleMs, openRuns } = dependencies;
  return apps.route({
    method: 'GET',
    path: '/run-session',
    access: { project: 'deployer' },
    summary:
      'A WebSocket: runs a command once in a pod of its own, with the image, variables and secrets of the app’s release. The pod is deleted when the session ends.',
    audit: action,
    query: environmentQuery.extend(runSessionQuery.shape),
    webSocket: execProtocol,
    replies: { 101: null },
    async handle({ query, name, findLiving, signal, log, actor, requestId }) {
      const { command, stdin, tty } = query;
      checkCommand(command, 'command');
      const app = await findLiving();
      requireRelease(app);
      const id = newRunId();
      const run = `${name}-${id}`;
      const program = programOf(command);
      let isRefused = false;
      let renewal: SessionRenewal | undefined;

      /** Runs the command in a pod of its own. @throws whatever prevents it */
      const serve = async (client: WebSocket): Promise<RelayEnd> => {
        /** A client that ignores the close of its WebSocket keeps the connection, which `signal` follows, open. */
        const isClosed = () => client.readyState !== client.OPEN;
        const held = holdMessages(client);
        await requestRun(kube, findLiving, {
          at: clock.now(),
          by: actor,
          id,
          // Arguments may be secrets, and viewers read the runs.
          complete: (request) => ({ ...request, command: [program], session: true }),
          annotations: { [sessionAnnotation(id)]: clock.now().toISOString() },
        }).catch((error: unknown) => {
          isRefused = error instanceof Problem;
          throw error;
        });
        renewal = renewSession({ kube, clock, log }, app, id);
        const pod = await waitForRunPod(dependencies, app, run, signal);
        if (isClosed()) return { by: 'client' };
        const { namespace = '' } = app.metadata;
        const upstream = await openCommand(
          kube,
          { namespace, pod, container: runContainer, command, stdin, tty },
          signal,
        );
        signal.throwIfAborted();
        if (isClosed()) {
          upstream.terminate();
          return { by: 'client' };
        }
        // The client knows by the first message that the command has started.
        client.send(channelMessage(execChannels.stdout, ''), { binary: true });
        const findStop = async () => {
          const current = await kube.get<App>(kinds.App, name, namespace);
          return current && isStopped(current, run) ? stoppedText : undefined;
        };
        const ended = relayExec(client, upstream, { early: held.take(), terminal: tty, idleMs, clock, findStop });
        upstream.resume();
        return ended;
      };
      /** Deletes the pod. */
      const stop = async () => {
        for (const pauseMs of [...stopPausesMs, undefined]) {
          try {
            return await stopRun(kube, findLiving, id);
          } catch (error) {
            // The app is being deleted, and its runs with it.
            if (error instanceof Problem && (error.code === 'not_found' || error.code === 'not_ready')) return;
            if (pauseMs === undefined) log.error({ err: error, run }, 'run of a session not stopped');
            else await clock.sleep(pauseMs);
          }
        }
      };
      /** Tells the client why the command could not run. */
      const fail = (client: WebSocket, error: unknown): RelayEnd => {
        if (signal.aborted) return { by: 'client' };
        const problem = problemOf(error, requestId);
        if (problem.status >= 500) log.error({ err: problem.cause ?? problem, run }, 'session failed');
        const status = { kind: 'Status', apiVersion: 'v1', status: 'Failure', message: problem.message };
        client.send(channelMessage(execChannels.error, JSON.stringify(status)), { binary: true });
        client.close(sessionCodes.done);
        // Input that nothing reads is discarded, so that the connection can close.
        client.resume();
        return { by: 'error' };
      };
      return {
        status: 101,
        audit: { run, program, tty },
        useSocket(client) {
          const started = clock.monotonic();
          const session = async () => {
            const end = await serve(client).catch((error: unknown) => fail(client, error));
            const seconds = Math.round((clock.monotonic() - started) / 1000);
            log.info({ action, actor, run, program, seconds, ...loggedEnd(end) }, 'session ended');
            await renewal?.stop();
            if (!isRefused) await stop();
          };
          openRuns.add(session());
        },
      };
    },
  });
}
