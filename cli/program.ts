import type { Group, LazyGroup } from './command.ts';
import type { ProgramOptions } from './context.ts';
import { fieldsOf } from './data-fields.ts';
import { exitCodes, renderFailure } from './failure.ts';
import { commandHelp, groupHelp } from './help.ts';
import { parseCommandLine, type Parsed } from './parse.ts';

/** Runs one command line to its end; resolves with the exit code and never rejects. */
export async function runProgram(
  root: Group | LazyGroup,
  argv: readonly string[],
  options: ProgramOptions,
): Promise<number> {
  const { stdout, stderr, env, version } = options;
  try {
    if (argv[0] === '--version' || argv[0] === '-v') {
      stdout.write(`svc ${version}\n`);
      return exitCodes.ok;
    }
    if (argv[0] === '__complete') {
      const { completionText } = await import('./run.ts');
      stdout.write(await completionText(root, argv.slice(1), options));
      return exitCodes.ok;
    }
    const parsed = await parseCommandLine(root, argv);
    if (parsed.action === 'run') {
      // Help and version need none of what a command needs.
      const { run } = await import('./run.ts');
      return await run(parsed, options);
    }
    stdout.write(`${textOf(parsed)}\n`);
    return exitCodes.ok;
  } catch (error) {
    const { text, exitCode } = renderFailure(error);
    const coloured = stderr.isTTY === true && !env['NO_COLOR'];
    stderr.write(coloured ? text.replace(/^error:/, '\u001B[31merror:\u001B[39m') : text);
    return exitCode;
  }
}

function textOf(parsed: Exclude<Parsed, { action: 'run' }>): string {
  if (parsed.action === 'fields') return fieldsOf(parsed.data).join('\n');
  const { path, subject } = parsed;
  return 'commands' in subject ? groupHelp(path, subject) : commandHelp(path, subject);
}
