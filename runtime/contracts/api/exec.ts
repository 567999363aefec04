import { z } from 'zod';
import { runCommandMax } from '../resources/run.ts';
import { flag } from './common.ts';

/** Most words of a command that runs in an existing pod. */
const wordsMax = 500;

/** The command of a session. A parameter that is repeated arrives as a list. */
const sessionQuery = (max: number) =>
  z.object({
    command: z
      .union([z.string(), z.array(z.string()).max(max)])
      .transform((words) => (typeof words === 'string' ? [words] : words))
      .refine(([program]) => program !== undefined && program !== '', { message: 'is required' })
      .describe('The program and its arguments, one in each `command`. They are not interpreted by a shell.'),
    stdin: flag.describe('Connects the standard input.'),
    tty: flag.describe('Runs the command in a terminal. Its standard error is then part of the standard output.'),
  });

/** Query of `GET …/exec`. */
export const execQuery = sessionQuery(wordsMax).extend({
  pod: z.string().max(253).optional().describe('One of the pods (default: the newest ready one).'),
});

/** Query of `GET …/run-session`. */
export const runSessionQuery = sessionQuery(runCommandMax.words);
