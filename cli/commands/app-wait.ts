import type { AppView } from '../../runtime/contracts/api/apps.ts';
import { gitSourceView } from '../../runtime/contracts/api/git.ts';
import { hasEnded } from '../../runtime/domain/deployment.ts';
import type { Context } from '../context.ts';
import { Failure } from '../failure.ts';
import type { Scope } from '../scope.ts';
import { waitFor, type WaitFlags } from '../wait.ts';
import { appKind } from './app-kind.ts';
import { checkSucceeded, newestDeployments } from './deployment.ts';

/** How often a failed app is read again until its deployment ends, since the deployment's reason includes the logs. */
const reasonAttempts = 10;
/** How often an app may show the failure of its old pods after a change that fixes it. */
const recoveryAttempts = 10;
/** Waits until a new app's first deployment succeeds and the app runs. @throws Failure with the reason */
export function waitUntilRunning(context: Context, flags: WaitFlags, scope: Scope, name: string): Promise<AppView> {
  let failedLooks = 0;
  return waitFor(
    context,
    flags,
    async () => {
      const app = await appKind.read(scope, name);
      const newest = (await newestDeployments(scope, name, 1))[0];
      const ended = newest !== undefined && hasEnded(newest.status);
      if (ended) {
        await checkSucceeded(scope, newest);
        if (isSettled(app)) return { done: app };
      }
      if (app.status === 'failed' && (!newest || ended || ++failedLooks > reasonAttempts)) {
        throw new Failure(`App "${name}" failed: ${app.message ?? 'see its history'}`, {
          code: 'failed',
          hint: `svc app show ${name} ${scope.flags}`,
        });
      }
      if (!newest && app.image === '') return { progress: `${name}: ${await gitProgress(scope, name)}` };
      if (newest?.status === 'building') return { progress: `${name}: building` };
      if (app.status === 'pending' && app.message !== undefined) return { progress: `${name}: ${app.message}` };
      return { progress: `${name}: ${app.status} (${app.readyReplicas} of ${app.replicas} ready)` };
    },
    `svc app show ${name} ${scope.flags}`,
  );
}

/** Whether an app has the pods that it should have, which are none when it is scaled to 0. */
function isSettled({ status }: AppView): boolean {
  return status === 'running' || status === 'stopped';
}

/** The progress of the first read of the repository. @throws Failure when that read failed */
async function gitProgress(scope: Scope, name: string): Promise<string> {
  const path = scope.path('apps', name, 'git');
  const { url = '', error, problem } = await scope.api.call('GET', path, gitSourceView, { query: scope.query });
  if (error === undefined) return 'reading the repository';
  if (problem === undefined || problem === 'unreachable') {
    throw new Failure(`The app "${name}" is created, but its repository is unreachable: ${error}`, {
      code: 'git_source',
      hint: `the platform tries again every minute and then builds the app; for another URL: svc app git set ${name} --url <url> ${scope.flags}`,
    });
  }
  const newUrl = problem === 'repository' ? '<url>' : url;
  throw new Failure(`Cannot build "${name}" from its repository: ${error}`, {
    code: 'git_source',
    hint: `the app is created and is built when you fix this: svc app git set ${name} --url ${newUrl} ${scope.flags}`,
  });
}

/** Waits until all pods of an app have its current settings. @throws Failure `failed` with the reason */
export function waitUntilServing(context: Context, flags: WaitFlags, scope: Scope, name: string): Promise<AppView> {
  let failedLooks = 0;
  return waitFor(
    context,
    flags,
    async () => {
      const app = await appKind.read(scope, name);
      if (app.status === 'failed') {
        throw new Failure(`App "${name}" failed: ${app.message ?? 'see its history'}`, { code: 'failed' });
      }
      // While old pods serve, the app is running and its message says why the new pods do not start.
      const fault = isSettled(app) ? app.message : undefined;
      if (fault !== undefined && ++failedLooks > recoveryAttempts) {
        throw new Failure(fault, {
          code: 'failed',
          hint: `the old pods keep serving; the new settings stay. Check with: svc app show ${name} ${scope.flags}`,
        });
      }
      const isUp = isSettled(app) && app.readyReplicas === app.replicas;
      if (isUp && fault === undefined) return { done: app };
      if (app.replicas === 0) return { progress: `${name}: stopping (${app.readyReplicas} still ready)` };
      return { progress: `${name}: ${app.status} (${app.readyReplicas} of ${app.replicas} ready)` };
    },
    `svc app show ${name} ${scope.flags}`,
  );
}
