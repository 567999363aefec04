import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { planOf, procfileCommand, type Language } from '../../runtime/domain/folder-plan.ts';
import { exitCodes, Failure } from '../failure.ts';

/** What a folder is: an app, with the reason for it and its release command, or a function with its source file. */
export type FolderKind = { app: string; release?: string | undefined } | { functionFile: string };

const phrases: Readonly<Record<Language, string>> = {
  node: 'Node app (package.json)',
  python: 'Python app',
  go: 'Go app (go.mod)',
  static: 'static site (index.html)',
  other: 'app (Procfile)',
};

/** The source file of a folder that is a function and nothing else. */
const handlerFiles = ['handler.mjs', 'handler.js', 'handler.py'];

/** Finds out what a folder is. @throws Failure `unknown_folder` that says what is missing */
export function kindOf(folder: string, dockerfile: string | undefined): FolderKind {
  const has = (name: string) => existsSync(join(folder, name));
  if (has(dockerfile ?? 'Dockerfile')) return { app: `app (${dockerfile ?? 'Dockerfile'})` };
  if (dockerfile !== undefined) {
    throw new Failure(`The folder has no file ${dockerfile}.`, {
      code: 'unknown_folder',
      exitCode: exitCodes.usage,
      hint: 'check --dockerfile, or dockerfile in svc.yaml',
    });
  }
  const files = { has, read: (name: string) => readFileSync(join(folder, name), 'utf8') };
  const plan = planOf(files);
  if ('fault' in plan) {
    const functionFile = handlerFiles.find(has);
    if (functionFile !== undefined) return { functionFile };
    throw new Failure(`Cannot deploy ${folder}: ${plan.fault}.`, { code: 'unknown_folder', exitCode: exitCodes.usage });
  }
  const { language, start } = plan;
  const command = language === 'static' || language === 'go' ? '' : `, started with: ${start}`;
  const release = procfileCommand(files, 'release');
  const releaseText = release === undefined ? '' : `, before each release: ${release}`;
  return { app: `${phrases[language]}${command}${releaseText}`, release };
}
