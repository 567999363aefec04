import { text } from 'node:stream/consumers';
import { PassThrough, Readable } from 'node:stream';
import { rootGroup } from '../../cli/commands/root.ts';
import { readHost } from '../../cli/host-volumes.ts';
import { localPlatform } from '../../cli/local-platform.ts';
import { runProgram } from '../../cli/program.ts';
import type { Ended } from '../../infra/demo/program.ts';
import { systemClock } from '../../runtime/domain/clock.ts';

/**
 * Runs one command line to its end in this process, with the environment of this process and `env`. A process of its own
 * takes a seventh of a second of a processor before it begins, which was a third of what the end-to-end tests used; the
 * start of `cli/svc.js` has tests of its own.
 * @param options.input the content of standard input
 */
export async function runCommandLine(
  args: readonly string[],
  { env, input = '' }: { env: NodeJS.ProcessEnv; input?: string | undefined },
): Promise<Ended> {
  const [stdout, stderr] = [new PassThrough(), new PassThrough()];
  const output = Promise.all([text(stdout), text(stderr)]);
  const environment = { ...process.env, ...env };
  const code = await runProgram(rootGroup, args, {
    env: environment,
    stdin: Readable.from(input === '' ? [] : [Buffer.from(input)]),
    stdout,
    stderr,
    clock: systemClock,
    version: '0.0.0',
    local: () => localPlatform(environment),
    host: readHost,
  });
  stdout.end();
  stderr.end();
  const [out, err] = await output;
  return { code, stdout: out, stderr: err };
}
