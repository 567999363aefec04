import { toggle } from './flags.ts';

/** The flags of a command that is connected with local streams. */
export const execFlags = {
  stdin: toggle('pass the standard input to the command', { short: 'i' }),
  tty: toggle('run the command in a terminal', { short: 't' }),
};
