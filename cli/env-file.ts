import { renameSync, rmSync, writeFileSync } from 'node:fs';
import { Failure, reasonOf, usageFailure } from './failure.ts';
import { readInputFile } from './input-file.ts';

// An import statement would evaluate all exports of node:util, some of which load further modules.
const { parseEnv } = process.getBuiltinModule('node:util');

/** The ways to write a value; the first one that is read back unchanged is used. */
const quotes = ['', "'", '"', '`'];

/** The variables in a file with lines NAME=value. @throws Failure (usage) when it cannot be read */
export function readEnvFile(file: string): Record<string, string> {
  const variables = parseEnv(readInputFile(file).toString('utf8'));
  return Object.fromEntries(Object.entries(variables).map(([name, value]) => [name, value ?? '']));
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
