import { existsSync, realpathSync } from 'node:fs';
import { isAbsolute, join, resolve } from 'node:path';
import { checkWorkloadName } from '../../runtime/domain/names.ts';
import { Problem } from '../../runtime/domain/problem.ts';
import type { Context } from '../context.ts';
import { usageFailure } from '../failure.ts';
import { resolveScope } from '../scope.ts';
import { deployApp } from './deploy-app.ts';
import type { DeployFlags } from './deploy-flags.ts';
import { deployFunction } from './deploy-function.ts';
import { checkFolder } from './files.ts';
import { kindOf } from './kinds.ts';
import { readFolderProject, type FolderApp, type FolderFunction, type FolderProject } from './project-file.ts';
import { chooseName, chooseProject } from './target.ts';

/** Deploys a folder as an app or function. Settings that svc.yaml does not have are detected and saved in it. @throws Failure */
export async function deployFolder(context: Context, typed: string, flags: DeployFlags): Promise<void> {
  const folder = resolve(typed);
  checkFolder(folder, typed);
  const file = readFolderProject(folder);
  const entry = entryOf(file, flags.name);
  const listed = flags.name ?? entry?.name;
  const subject = entry?.function
    ? { function: checkedFunction(folder, entry.function) }
    : appOf(folder, flags, entry?.app);
  const project = await chooseProject(context, flags, file.project);
  const scope = resolveScope(context, { ...flags, project, environment: flags.environment ?? file.environment });
  const name = checkName(listed ?? (await chooseName(context, folder)));
  if ('function' in subject) {
    context.say(`${name}: function (${subject.function.codeFile})`);
    await deployFunction(context, flags, scope, { name, folder, settings: subject.function, file });
  } else {
    context.say(`${name}: ${subject.phrase}`);
    const { folder: source, app: settings, release } = subject;
    await deployApp(context, flags, scope, { name, folder: source, settings, release, file });
  }
}

/** @throws Failure (usage) */
function checkName(name: string): string {
  try {
    return checkWorkloadName(name);
  } catch (error) {
    if (error instanceof Problem) throw usageFailure(error.message, 'choose another name with --name');
    throw error;
  }
}

interface Entry {
  name: string;
  app?: FolderApp;
  function?: FolderFunction;
}

/** The app or function of the file that is meant; undefined for none. @throws Failure (usage) when it has several */
function entryOf({ apps, functions }: FolderProject, name: string | undefined): Entry | undefined {
  const entries: Entry[] = [
    ...[...apps].map(([key, app]) => ({ name: key, app })),
    ...[...functions].map(([key, code]) => ({ name: key, function: code })),
  ];
  if (name !== undefined) return entries.find((entry) => entry.name === name);
  if (entries.length <= 1) return entries[0];
  const names = entries.map((entry) => entry.name).join(', ');
  throw usageFailure(`svc.yaml has several apps and functions: ${names}.`, 'choose one with --name');
}

/** What a folder is: an app with its settings, or a function. */
function appOf(
  folder: string,
  flags: Pick<DeployFlags, 'port' | 'dockerfile'>,
  entry: FolderApp | undefined,
): { phrase: string; folder: string; app: FolderApp; release: string | undefined } | { function: FolderFunction } {
  const { build = '.' } = entry ?? {};
  const source = inside(folder, build);
  const [port, dockerfile] = [flags.port ?? entry?.port, flags.dockerfile ?? entry?.dockerfile];
  const kind = kindOf(source, dockerfile);
  if ('functionFile' in kind) return { function: { codeFile: kind.functionFile } };
  const app = { build, ...(port !== undefined && { port }), ...(dockerfile !== undefined && { dockerfile }) };
  return { phrase: kind.app, folder: source, app, release: kind.release };
}

function checkedFunction(folder: string, settings: FolderFunction): FolderFunction {
  inside(folder, settings.codeFile);
  return settings;
}

/** A path that svc.yaml names. It may not be elsewhere: the file of a stranger could name private files. */
function inside(folder: string, path: string): string {
  const full = join(folder, path);
  const isInside = existsSync(full) && `${realpathSync(full)}/`.startsWith(`${realpathSync(folder)}/`);
  if (isInside && !isAbsolute(path)) return full;
  throw usageFailure(`svc.yaml names "${path}", which does not exist inside ${folder}.`);
}
