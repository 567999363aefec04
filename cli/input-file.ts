import { readFileSync } from 'node:fs';
import { buffer } from 'node:stream/consumers';
import type { FunctionRuntime } from '../runtime/contracts/resources/function.ts';
import type { Context } from './context.ts';
import { reasonOf, usageFailure } from './failure.ts';

/** The content of a file that a flag names. @throws Failure (usage) when it cannot be read */
export function readInputFile(file: string): Buffer {
  try {
    return readFileSync(file);
  } catch (error) {
    throw usageFailure(`Cannot read ${file}: ${reasonOf(error)}.`);
  }
}

/** The content of a file that a flag names, or of standard input for `-`. @throws Failure (usage) when it cannot be read */
export async function readInput({ stdin }: Pick<Context, 'stdin'>, file: string): Promise<Buffer> {
  return file === '-' ? buffer(stdin) : readInputFile(file);
}

/** The runtime for a file name: Python for `*.py`, otherwise Node. */
export function runtimeOf(file: string): FunctionRuntime {
  return file.endsWith('.py') ? 'python' : 'node';
}
