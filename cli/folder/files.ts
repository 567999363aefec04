import { lstatSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import ignore, { type Ignore } from 'ignore';
import type { Problem } from '../../runtime/domain/problem.ts';
import {
  linkFault,
  pathFault,
  sourceLimits,
  tooLarge,
  tooManyFiles,
  type SourceFile,
} from '../../runtime/domain/source-files.ts';
import { Failure, reasonOf, usageFailure } from '../failure.ts';
import { projectFileName } from './project-file.ts';

/** A file to upload. Its chunks are known once it is read. */
export type LocalFile = Omit<SourceFile, 'chunks'> & {
  /** Where it is on this machine. */
  file: string;
};

const ignoreFiles = ['.gitignore', '.svcignore'];

/**
 * What no build needs, and what often contains passwords. A line such as `!.env` in `.svcignore` includes it again.
 * https://git-scm.com/docs/gitignore
 */
const neverNeeded = [
  '.git',
  '.hg',
  '.svn',
  'node_modules',
  '.venv',
  '__pycache__',
  '.DS_Store',
  '.env',
  '.env.*',
  '!.env.example',
  ...ignoreFiles,
  projectFileName,
];

/**
 * The files of a folder, sorted by path, without those that `.gitignore` and `.svcignore` of their folder or a folder above
 * exclude. @throws Failure for a file that cannot be uploaded, and for too many or too large ones
 */
export function filesIn(root: string): LocalFile[] {
  const files: LocalFile[] = [];
  let bytes = 0;
  const visit = (folder: string, rules: readonly Rules[]) => {
    const own = rulesIn(join(root, folder), folder);
    const all = own ? [...rules, own] : rules;
    for (const entry of readdirSync(join(root, folder), { withFileTypes: true, encoding: 'buffer' })) {
      const name = nameOf(entry.name, folder);
      const path = folder === '' ? name : `${folder}/${name}`;
      if (isIgnored(all, path, entry.isDirectory())) continue;
      if (entry.isDirectory()) {
        visit(path, all);
        continue;
      }
      const file = localFile(join(root, path), path);
      bytes += file.size;
      files.push(file);
      if (files.length > sourceLimits.files) throw beyondLimit(tooManyFiles());
      if (bytes > sourceLimits.bytes) throw beyondLimit(tooLarge());
    }
  };
  visit('', [{ folder: '', patterns: ignore().add(neverNeeded) }]);
  return files.sort((one, other) => (one.path < other.path ? -1 : 1));
}

/** The patterns of the ignore files in one folder. */
interface Rules {
  folder: string;
  patterns: Ignore;
}

function rulesIn(folder: string, path: string): Rules | undefined {
  const texts = ignoreFiles.flatMap((name) => {
    try {
      return [readFileSync(join(folder, name), 'utf8')];
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
      // Without it, files that it excludes would be uploaded.
      throw new Failure(`Cannot read ${join(path, name)}: ${reasonOf(error)}.`, { code: 'invalid_source' });
    }
  });
  return texts.length === 0 ? undefined : { folder: path, patterns: ignore().add(texts.join('\n')) };
}

/** As in git, the last pattern that matches decides, of the folder that is nearest to the file. */
function isIgnored(rules: readonly Rules[], path: string, isFolder: boolean): boolean {
  for (const { folder, patterns } of rules.toReversed()) {
    const relative = folder === '' ? path : path.slice(folder.length + 1);
    const { ignored, unignored } = patterns.test(isFolder ? `${relative}/` : relative);
    if (ignored || unignored) return ignored;
  }
  return false;
}

function localFile(file: string, path: string): LocalFile {
  const status = lstatSync(file);
  const fault = pathFault(path);
  if (fault !== undefined) throw refusal(`The path ${JSON.stringify(path)} ${fault}.`);
  if (status.isSymbolicLink()) {
    const target = readlinkSync(file);
    const linked = linkFault(path, target);
    if (linked !== undefined) throw refusal(`The link ${path} ${linked}.`);
    return { path, kind: 'link', size: 0, target, file };
  }
  if (!status.isFile()) throw refusal(`${path} is a device, socket or pipe, which cannot be uploaded.`);
  return { path, kind: (status.mode & 0o111) === 0 ? 'file' : 'program', size: status.size, file };
}

function nameOf(name: Buffer, folder: string): string {
  const text = name.toString('utf8');
  if (Buffer.from(text).equals(name)) return text;
  throw refusal(`The name ${JSON.stringify(text)} in ${folder === '' ? 'the folder' : folder} is not valid UTF-8.`);
}

function beyondLimit({ code, message }: Problem): Failure {
  return new Failure(message, { code });
}

function refusal(message: string): Failure {
  return new Failure(message, { code: 'invalid_source', hint: 'rename or remove it, or exclude it in .svcignore' });
}

/** @throws Failure (usage) unless it is a folder */
export function checkFolder(folder: string, typed: string): void {
  const status = lstatSync(folder, { throwIfNoEntry: false });
  if (!status) throw usageFailure(`The folder ${typed} does not exist.`);
  if (!status.isDirectory() && !status.isSymbolicLink()) throw usageFailure(`${typed} is not a folder.`);
}
