import type { Stored } from '../contracts/kubernetes.ts';
import type { App } from '../contracts/resources/app.ts';
import { Problem } from '../domain/problem.ts';

/** Largest command in bytes, with all its words: the App holds up to forty commands, in requests and in its history. */
const commandMaxBytes = 4_096;

/** @throws Problem `invalid_value` for a command that is too long */
export function checkCommand(command: readonly string[], field: string): void {
  const bytes = command.reduce((sum, word) => sum + Buffer.byteLength(word), 0);
  if (bytes <= commandMaxBytes) return;
  throw new Problem(
    'invalid_value',
    `The command has ${bytes} bytes; the limit is ${commandMaxBytes}. Put a longer script into the image.`,
    { details: { field } },
  );
}

/** @throws Problem `not_ready` for an app whose first deployment has not started: there is no image to run */
export function requireRelease({ metadata, spec }: Stored<App>): void {
  if (spec.release) return;
  throw new Problem(
    'not_ready',
    `The app "${metadata.name}" has no release yet. Deploy it first, then run the command.`,
  );
}
