import { readFileSync } from 'node:fs';
import type { FunctionRuntime } from '../runtime/contracts/resources/function.ts';
import { reasonOf, usageFailure } from './failure.ts';

/** The content of a file that a flag names. @throws Failure (usage) when it cannot be read */
export function readInputFile(file: string): Buffer {
  try {
    return readFileSync(file);
  } catch (error) {
    throw usageFailure(`Cannot read ${file}: ${reasonOf(error)}.`);
  }
}

/** The runtime for a file name: Python for `*.py`, otherwise Node. */
export function runtimeOf(file: string): FunctionRuntime {
  return file.endsWith('.py') ? 'python' : 'node';
}
