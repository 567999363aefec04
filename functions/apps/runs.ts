import type { Stored } from '../../runtime/contracts/kubernetes.ts';
import type { App, AppRun } from '../../runtime/contracts/resources/app.ts';
import type { AppRunRequest, RunRequest } from '../../runtime/contracts/resources/run.ts';
import { Problem } from '../../runtime/domain/problem.ts';
import { runViews, type RunView } from '../../runtime/api/run-views.ts';

/** Largest command in bytes, with all its words: the App holds up to forty commands, in requests and in its history. */
const commandMaxBytes = 4_096;

/** The request with its command. @throws Problem `invalid_value` for a command that is too long */
export function withCommand(request: RunRequest, { command }: { command: string[] }): AppRunRequest {
  checkCommand(command, 'command');
  return { ...request, command };
}

/** @throws Problem `invalid_value` for a command that is too long */
export function checkCommand(command: readonly string[], field: string): void {
  const bytes = command.reduce((sum, word) => sum + Buffer.byteLength(word), 0);
  if (bytes <= commandMaxBytes) return;
  throw new Problem(
    'invalid_value',
    `The command has ${bytes} bytes; the limit is ${commandMaxBytes}. Put a longer script into the image.`,
    { details: { field } },
  );
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

/** @throws Problem `not_ready` for an app whose first deployment has not started: there is no image to run */
export function requireRelease({ metadata, spec }: Stored<App>): void {
  if (spec.release) return;
  throw new Problem(
    'not_ready',
    `The app "${metadata.name}" has no release yet. Deploy it first, then run the command.`,
  );
}
