import { basename } from 'node:path';
import type { WebSocket } from 'ws';
import { Problem } from '../../runtime/domain/problem.ts';
import { KubeError, type KubeExec } from '../../runtime/kube/kube-client.ts';

/** A command that runs in a container of a pod. */
interface PodCommand {
  namespace: string;
  pod: string;
  container: string;
  command: readonly string[];
  stdin: boolean;
  tty: boolean;
}

/**
 * Starts a command. Its messages wait until `resume` is called.
 * @param signal closes the connection, which ends the command in the embedded cluster
 * @throws Problem `not_ready` for a pod that has ended, `unavailable` when the cluster does not support the protocol
 */
export async function openCommand(
  kube: KubeExec,
  { namespace, pod, container, command, stdin, tty }: PodCommand,
  signal: AbortSignal,
): Promise<WebSocket> {
  const parameters = new URLSearchParams({
    container,
    stdin: String(stdin),
    stdout: 'true',
    stderr: String(!tty),
    tty: String(tty),
  });
  for (const word of command) parameters.append('command', word);
  const upstream = await kube.openExec({ namespace, name: pod }, parameters, signal).catch((error: unknown) => {
    throw refusal(error, pod);
  });
  upstream.pause();
  return upstream;
}

/** The program of a command, for the log: its arguments may be secrets. */
export function programOf([program = '']: readonly string[]): string {
  return basename(program).slice(0, 100);
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
