import { deploymentAccepted, type AppView, type DeploymentAccepted } from '../../runtime/contracts/api/apps.ts';
import { appKind } from '../commands/app-kind.ts';
import { openBrowser } from '../commands/open.ts';
import type { DeployFlags } from './deploy-flags.ts';
import { followDeployment } from '../commands/deployment.ts';
import type { Context } from '../context.ts';
import { Failure, unlessMissing, usageFailure } from '../failure.ts';
import { newEnvironmentBody } from '../new-environment.ts';
import { fields } from '../output.ts';
import { createProgress } from '../progress.ts';
import type { Scope } from '../scope.ts';
import { waitFor, type WaitFlags } from '../wait.ts';
import { sizeText } from '../units.ts';
import { checkoutOf } from './checkout.ts';
import { checkDockerfile } from './dockerfile.ts';
import { filesIn } from './files.ts';
import { followBuild } from './follow-build.ts';
import type { FolderApp, FolderProject } from './project-file.ts';
import { readFolder, uploadMissing, type ReadFolder } from './upload.ts';

interface FolderDeployment {
  name: string;
  /** The folder to upload. */
  folder: string;
  settings: FolderApp;
  /** The shell command of the Procfile that each release runs before its pods start. */
  release: string | undefined;
  /** Where the settings are kept. */
  file: FolderProject;
}

/** Uploads a folder, deploys it as an app, which is created if it is missing, and prints its URL. @throws Failure */
export async function deployApp(
  context: Context,
  flags: DeployFlags,
  scope: Scope,
  { name, folder, settings, release, file }: FolderDeployment,
): Promise<void> {
  // All that can be refused comes before the upload, which may take minutes.
  const app = await findApp(scope, name);
  if (app) checkExisting(app, flags);
  await checkDockerfile(context, scope, folder, settings.dockerfile);
  const environment = app ? {} : await newEnvironmentBody(context, flags);
  const [read, checkout] = await Promise.all([readFolder(filesIn(folder)), checkoutOf(folder)]);
  await upload(context, scope, read);
  const { port, dockerfile } = settings;
  const changes = {
    ...(port !== undefined && port !== app?.port && { port }),
    ...(release !== undefined && !isShell(app?.releaseCommand, release) && { releaseCommand: shellOf(release) }),
  };
  if (!app) await appKind.create(scope, { name, upload: true, ...changes, ...environment });
  else if (Object.keys(changes).length > 0) await appKind.update(scope, name, changes);
  const body = { files: read.files, ...(dockerfile !== undefined && { dockerfile }), ...checkout };
  const accepted = await acceptBuild(context, flags, scope, { name, read, body });
  const { project, query } = scope;
  if (file.save({ project, environment: query.environment, section: 'apps', name, settings })) {
    context.say('svc.yaml keeps these settings; the next svc deploy updates the app');
  }
  if (!flags.wait) {
    const table = `revision ${accepted.revision} of ${name} is accepted`;
    context.print({ data: accepted, table, names: [accepted.id] }, flags.output);
    return;
  }
  await followBuild(context, flags, scope, { app: name, id: accepted.id });
  const deployment = await followDeployment(context, flags, scope, { app: name, id: accepted.id });
  const { url } = await appKind.read(scope, name);
  context.print(
    {
      data: { ...deployment, url },
      table: fields([
        ['App', name],
        ['Revision', deployment.revision],
        ['URL', url],
      ]),
      names: [url ?? name],
    },
    flags.output,
  );
  if (flags.open && url !== undefined && !(await openBrowser(context, url)))
    context.say(`no browser here; open ${url}`);
}

function shellOf(line: string): string[] {
  return ['/bin/sh', '-c', line];
}

function isShell(command: readonly string[] | undefined, line: string): boolean {
  return command?.join('\0') === shellOf(line).join('\0');
}

async function upload(context: Context, scope: Scope, read: ReadFolder): Promise<void> {
  const progress = createProgress(context);
  const started = context.clock.monotonic();
  try {
    const sent = await uploadMissing(scope, read, {
      sleep: (ms) => context.clock.sleep(ms),
      progress: (done, total) => {
        // A line for each request would fill the log of a CI system.
        if (context.stderr.isTTY !== true) return;
        progress.show(
          `uploading ${sizeText(done)} of ${sizeText(total)}`,
          (context.clock.monotonic() - started) / 1000,
        );
      },
    });
    progress.clear();
    const count = read.files.length;
    context.say(`uploaded ${sizeText(sent)} of ${sizeText(read.bytes)} in ${count} ${count === 1 ? 'file' : 'files'}`);
  } finally {
    progress.clear();
  }
}

/** The app; undefined if there is none. @throws Failure `not_found` when its environment does not exist */
async function findApp(scope: Scope, name: string): Promise<AppView | undefined> {
  const app = await unlessMissing(appKind.read(scope, name));
  if (!app) await scope.api.send('GET', scope.path('apps'), { query: { ...scope.query, limit: 1 } });
  return app;
}

/** An existing app keeps its variables, secrets and bindings. @throws Failure (usage) for flags that would change them */
function checkExisting({ name, bindings }: AppView, { env, envFile, secret, bind }: DeployFlags): void {
  if (env.length > 0 || envFile !== undefined || secret.length > 0) {
    const hint = `change them, then deploy: svc app env set ${name} NAME=value, svc app secret set ${name} NAME`;
    throw usageFailure(`The app "${name}" exists; --env, --env-file and --secret are for new apps.`, hint);
  }
  const bound = new Set(bindings?.map(({ service }) => service));
  const unbound = bind.map((typed) => typed.split('=', 1)[0] ?? '').find((service) => !bound.has(service));
  if (unbound !== undefined) {
    throw usageFailure(
      `The app "${name}" exists and is not bound to ${unbound}.`,
      `bind it first: svc app bind ${name} ${unbound}`,
    );
  }
}

/** Deploys the folder. A new app is ready for it after a moment; chunks that were deleted meanwhile are sent again. */
async function acceptBuild(
  context: Context,
  flags: WaitFlags,
  scope: Scope,
  { name, read, body }: { name: string; read: ReadFolder; body: object },
): Promise<DeploymentAccepted> {
  return waitFor(
    context,
    flags,
    async () => {
      try {
        const path = scope.path('apps', name, 'source/builds');
        return { done: await scope.api.call('POST', path, deploymentAccepted, { query: scope.query, body }) };
      } catch (error) {
        if (!(error instanceof Failure)) throw error;
        if (error.code === 'source_incomplete') await upload(context, scope, read);
        else if (error.code !== 'not_ready') throw error;
        return { progress: `${name}: being set up` };
      }
    },
    `svc app show ${name} ${scope.flags}`,
  );
}
