import { z } from 'zod';
import { flag } from './common.ts';

/** Most words of a command. */
const wordsMax = 500;

/** Query of `GET …/exec`. A parameter that is repeated arrives as a list. */
export const execQuery = z.object({
  command: z
    .union([z.string(), z.array(z.string()).max(wordsMax)])
    .transform((words) => (typeof words === 'string' ? [words] : words))
    .refine(([program]) => program !== undefined && program !== '', { message: 'is required' })
    .describe('The program and its arguments, one in each `command`. They are not interpreted by a shell.'),
  pod: z.string().max(253).optional().describe('One of the pods (default: the newest ready one).'),
  stdin: flag.describe('Connects the standard input.'),
  tty: flag.describe('Runs the command in a terminal. Its standard error is then part of the standard output.'),
});
