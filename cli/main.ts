import packageFile from '../package.json' with { type: 'json' };
import { systemClock } from '../runtime/domain/clock.ts';
import { localPlatform } from './local-platform.ts';
import { rootGroup } from './commands/root.ts';
import { readHost } from './host-volumes.ts';
import { runProgram } from './program.ts';

const { env, stdin, stdout, stderr } = process;

// `svc … | head` closes the pipe before the end of the output.
stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit();
  throw error;
});

process.exitCode = await runProgram(rootGroup, process.argv.slice(2), {
  env,
  stdin,
  stdout,
  stderr,
  clock: systemClock,
  version: packageFile.version,
  onInterrupt: (listener) => {
    process.once('SIGINT', listener);
    return () => void process.off('SIGINT', listener);
  },
  local: () => localPlatform(env),
  host: readHost,
});
