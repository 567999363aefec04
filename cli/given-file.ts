import { readFileSync } from 'node:fs';
import type { FunctionRuntime } from '../runtime/contracts/resources/function.ts';
import { usageFailure } from './failure.ts';

/** What stands in a file that a flag names. @throws Failure (usage) for one that cannot be read */
export function readGivenFile(file: string): Buffer {
  try {
    return readFileSync(file);
  } catch (error) {
    throw usageFailure(`${file} cannot be read: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/** What a file's name says of its language; Node when it says nothing. */
export function runtimeOf(file: string): FunctionRuntime {
  return file.endsWith('.py') ? 'python' : 'node';
}
