import type { Group } from './command.ts';
import { createContext, type ProgramOptions } from './context.ts';
import { renderFailure, type ExitCode } from './failure.ts';
import { commandHelp, groupHelp } from './help.ts';
import { parseCommandLine } from './parse.ts';

/** Runs one command line to its end; resolves with the exit code and never rejects. */
export async function runProgram(root: Group, argv: readonly string[], options: ProgramOptions): Promise<ExitCode> {
  const { stdout, stderr, env, version } = options;
  try {
    if (argv[0] === '--version' || argv[0] === '-v') {
      stdout.write(`svc ${version}\n`);
      return 0;
    }
    const parsed = await parseCommandLine(root, argv);
    if (parsed.action === 'help') {
      const help = parsed.command ? commandHelp(parsed.path, parsed.command) : groupHelp(parsed.path, parsed.group);
      stdout.write(`${help}\n`);
      return 0;
    }
    const context = createContext(options);
    try {
      await parsed.command.run({ context, args: parsed.args, flags: parsed.flags });
    } finally {
      context.close();
    }
    return 0;
  } catch (error) {
    const { text, exitCode } = renderFailure(error);
    const coloured = stderr.isTTY === true && !env['NO_COLOR'];
    stderr.write(coloured ? text.replace(/^error:/, '\u001B[31merror:\u001B[39m') : text);
    return exitCode;
  }
}
