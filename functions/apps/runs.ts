import { checkCommand } from '../../runtime/api/app-commands.ts';
import type { ObjectRoutes } from '../../runtime/api/object-routes.ts';
import { stopRun } from '../../runtime/api/run-requests.ts';
import { runViews, type RunView } from '../../runtime/api/run-views.ts';
import { appRunView } from '../../runtime/contracts/api/runs.ts';
import type { Stored } from '../../runtime/contracts/kubernetes.ts';
import type { App, AppRun } from '../../runtime/contracts/resources/app.ts';
import type { AppRunRequest, RunRequest } from '../../runtime/contracts/resources/run.ts';
import { Problem } from '../../runtime/domain/problem.ts';
import type { Route } from '../../runtime/http/route.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';

/** The request with its command. @throws Problem `invalid_value` for a command that is too long */
export function withCommand(request: RunRequest, { command }: { command: string[] }): AppRunRequest {
  checkCommand(command, 'command');
  return { ...request, command };
}

/** The app's one-off runs, newest first. */
export function appRuns(app: Stored<App>): (RunView<AppRun['trigger']> & Pick<AppRun, 'command'>)[] {
  const commands = new Map<string, string[]>();
  for (const { id, command } of app.spec.runRequests ?? []) commands.set(`${app.metadata.name}-${id}`, command);
  for (const { name, command } of app.status?.runs ?? []) commands.set(name, command);
  return runViews(app, ({ id }) => ({ name: `${app.metadata.name}-${id}`, trigger: 'manual' })).map((run) => ({
    ...run,
    command: commands.get(run.name) ?? [],
  }));
}

/** `DELETE …/runs/{run}`: asks the controller to stop a one-off run, also that of a session, and to delete it. */
export function stopRunRoute(apps: ObjectRoutes<App>, { kube }: { kube: Pick<KubeClient, 'replace'> }): Route {
  return apps.route({
    method: 'DELETE',
    path: '/runs/:run',
    access: { project: 'deployer', scope: 'deploy' },
    summary: 'Stops a one-off run of an app, if it has not ended, and deletes it.',
    audit: 'app.run.stop',
    replies: { 202: appRunView },
    async handle({ params, name, findLiving }) {
      const run = appRuns(await findLiving()).find((entry) => entry.name === params.run);
      if (!run) {
        throw new Problem(
          'not_found',
          `The app "${name}" has no run "${params.run}". List its runs with \`svc app runs ${name}\`.`,
        );
      }
      if (run.trigger === 'release') {
        throw new Problem(
          'conflict',
          `The run "${run.name}" belongs to a deployment. Cancel the deployment: svc deployment cancel.`,
        );
      }
      await stopRun(kube, findLiving, run.name.slice(name.length + 1));
      return { status: 202, body: run };
    },
  });
}
