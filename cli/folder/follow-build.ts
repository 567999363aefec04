import { deploymentView, type DeploymentView } from '../../runtime/contracts/api/apps.ts';
import { buildLogView } from '../../runtime/contracts/api/git.ts';
import { hasEnded } from '../../runtime/domain/deployment.ts';
import type { Context } from '../context.ts';
import type { Scope } from '../scope.ts';
import { waitFor, type WaitFlags } from '../wait.ts';

const eraseLine = '\r\u001B[2K';

/**
 * Waits until the image of a deployment is built, and prints the output of its build on stderr meanwhile. Returns also when
 * the deployment has ended. @throws Failure `timeout`, `interrupted`
 */
export async function followBuild(
  context: Context,
  flags: Pick<WaitFlags, 'timeout'>,
  scope: Scope,
  { app, id }: { app: string; id: string },
): Promise<DeploymentView> {
  let offset = 0;
  const printMore = async () => {
    const path = scope.path('builds', id, 'logs');
    const { log, offset: next } = await scope.api.call('GET', path, buildLogView, { query: { offset } });
    offset = next;
    // The line of the progress is written again below it.
    if (log !== '') context.stderr.write(`${context.stderr.isTTY === true ? eraseLine : ''}${log}`);
  };
  return waitFor(
    context,
    flags,
    async () => {
      const deployment = await scope.api.call('GET', scope.path('deployments', id), deploymentView);
      await printMore();
      const { status, reason, image } = deployment;
      if (hasEnded(status) || image !== undefined) return { done: deployment };
      const waiting = status === 'accepted' && reason !== undefined ? `. ${reason.split('\n', 1)[0]}` : '';
      return { progress: `${app}: ${status === 'building' ? 'building' : 'waiting for the build'}${waiting}` };
    },
    `svc app history ${app} ${scope.flags}`,
  );
}
