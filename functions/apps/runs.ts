import { checkCommand } from '../../runtime/api/app-commands.ts';
import { runViews, type RunView } from '../../runtime/api/run-views.ts';
import type { Stored } from '../../runtime/contracts/kubernetes.ts';
import type { App, AppRun } from '../../runtime/contracts/resources/app.ts';
import type { AppRunRequest, RunRequest } from '../../runtime/contracts/resources/run.ts';

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
