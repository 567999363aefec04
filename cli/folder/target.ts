import { readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { projectView } from '../../runtime/contracts/api/projects.ts';
import { workloadNameMax } from '../../runtime/domain/names.ts';
import type { Context } from '../context.ts';
import { Failure } from '../failure.ts';
import { waitUntilReady } from '../project-view.ts';
import { ask } from '../prompt.ts';
import { resolvePlatform } from '../scope.ts';
import type { WaitFlags } from '../wait.ts';

/** Which project a folder is deployed to, if neither flags nor svc.yaml say so. */
interface ProjectFlags extends WaitFlags {
  api: string | undefined;
  project: string | undefined;
}

/**
 * The project for a folder: that of the flag, the file, the shell or `svc project use`; else the only one there is; else the
 * answer to a question, for which a new project is created. @throws Failure without a terminal
 */
export async function chooseProject(
  context: Context,
  flags: ProjectFlags,
  fromFile: string | undefined,
): Promise<string> {
  const project = flags.project ?? fromFile ?? context.defaultProject(flags);
  if (project !== undefined) return project;
  const { api } = resolvePlatform(context, flags);
  const projects = await api.list('/projects', projectView);
  const names = projects.map(({ name }) => name);
  if (names.length === 1 && names[0] !== undefined) {
    context.say(`project ${names[0]}, the only one`);
    return names[0];
  }
  const choices = names.length === 0 ? 'a new name' : `${names.slice(0, 5).join(', ')} or a new name`;
  const name = (await ask(context, `Project (${choices})`, 'use --project <project>')).trim();
  if (names.includes(name)) return name;
  if (name === '') throw new Failure('Nothing was deployed.', { code: 'not_confirmed' });
  await api.call('POST', '/projects', projectView, { body: { name } });
  await waitUntilReady(context, flags, name);
  context.say(`project ${name} is created`);
  return name;
}

/** The name for an app of a folder: of its package.json, else the folder's. Asks for another one on a terminal. */
export async function chooseName(context: Context, folder: string): Promise<string> {
  const suggestion = nameOf(packageName(folder) ?? '') || nameOf(basename(folder)) || 'app';
  if (!context.stdin.isTTY) return suggestion;
  return (await ask(context, `Name (${suggestion})`, 'use --name <name>')).trim() || suggestion;
}

function packageName(folder: string): string | undefined {
  try {
    const { name } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as { name?: unknown };
    return typeof name === 'string' ? name.replace(/^@[^/]*\//, '') : undefined;
  } catch {
    return undefined;
  }
}

/** A text as the name of a workload: lower-case letters, digits and single hyphens, beginning with a letter. Pure. */
export function nameOf(text: string): string {
  return text
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replace(/^[^a-z]+/, '')
    .slice(0, workloadNameMax)
    .replace(/-+$/, '');
}
