import { renameSync, rmSync, writeFileSync } from 'node:fs';
import { Failure, reasonOf, usageFailure } from './failure.ts';
import { readInputFile } from './input-file.ts';

// An import statement would evaluate all exports of node:util, some of which load further modules.
const { parseEnv } = process.getBuiltinModule('node:util');

/** The ways to write a value; the first one that is read back unchanged is used. */
const quotes = ['', "'", '"', '`'];

/** The variables in a file with lines NAME=value. @throws Failure (usage) when it cannot be read, or has other lines */
export function readEnvFile(file: string): Record<string, string> {
  const content = readInputFile(file).toString('utf8');
  const variables = parseEnv(content);
  const line = ignoredLine(content, variables);
  // The line may be a part of a secret, so it is not printed.
  if (line !== undefined) {
    throw usageFailure(`${file}:${line}: the line is not NAME=value.`, 'put a value of several lines in quotes');
  }
  return Object.fromEntries(Object.entries(variables).map(([name, value]) => [name, value ?? '']));
}

/**
 * The number of the first line that the parser skips without a word, such as the second line of a key without quotes;
 * undefined if there is none.
 */
function ignoredLine(content: string, variables: ReturnType<typeof parseEnv>): number | undefined {
  const lines = content.split('\n');
  const parsed = JSON.stringify(variables);
  const index = lines.findIndex((line, at) => {
    if (line.includes('=') || /^\s*(#|$)/.test(line)) return false;
    // Within quotes, the line is part of a value.
    return JSON.stringify(parseEnv(lines.toSpliced(at, 1).join('\n'))) === parsed;
  });
  return index < 0 ? undefined : index + 1;
}

/** Variables as lines NAME=value. @throws Failure for a value that no such file can have */
export function envLines(variables: Readonly<Record<string, string>>): string {
  return Object.entries(variables)
    .map(([name, value]) => `${envLine(name, value)}\n`)
    .join('');
}

function envLine(name: string, value: string): string {
  const lines = quotes.map((quote) => `${name}=${quote}${value}${quote}`);
  // A plain value with spaces would be read, but not by shells.
  const line = lines.find(
    (candidate, index) => (index > 0 || /^[\w./:@%+,=-]*$/.test(value)) && parseEnv(candidate)[name] === value,
  );
  if (line !== undefined) return line;
  throw new Failure(`The value of ${name} cannot be written to a .env file: no form of quotes keeps it unchanged.`, {
    code: 'not_writable',
  });
}

/** Replaces a file in one step, readable by its owner only. @throws Failure (usage) when it cannot be written */
export function writeEnvFile(file: string, content: string): void {
  const temporaryFile = `${file}.${process.pid}`;
  try {
    writeFileSync(temporaryFile, content, { mode: 0o600, flag: 'wx' });
    renameSync(temporaryFile, file);
  } catch (error) {
    // It may have values of secrets.
    rmSync(temporaryFile, { force: true });
    throw usageFailure(`Cannot write ${file}: ${reasonOf(error)}.`);
  }
}
