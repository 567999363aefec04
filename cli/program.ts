import type { Group } from './command.ts';
import { createContext, type ProgramOptions } from './context.ts';
import { fieldsOf } from './data-fields.ts';
import { exitCodes, renderFailure, type ExitCode } from './failure.ts';
import { createFormatter, type FormatOptions } from './formatter.ts';
import { commandHelp, groupHelp } from './help.ts';
import { parseCommandLine, type Parsed } from './parse.ts';
import { watch } from './watch.ts';

/** Runs one command line to its end; resolves with the exit code and never rejects. */
export async function runProgram(root: Group, argv: readonly string[], options: ProgramOptions): Promise<ExitCode> {
  const { stdout, stderr, env, version } = options;
  try {
    if (argv[0] === '--version' || argv[0] === '-v') {
      stdout.write(`svc ${version}\n`);
      return exitCodes.ok;
    }
    const parsed = await parseCommandLine(root, argv);
    if (parsed.action === 'run') return await run(parsed, options);
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
  return parsed.command ? commandHelp(parsed.path, parsed.command) : groupHelp(parsed.path, parsed.group);
}

/** The options that {@link command} adds to those of a command. */
type AddedFlags = FormatOptions & { context?: string; watch?: boolean };

async function run({ command, args, flags }: Parsed & { action: 'run' }, options: ProgramOptions): Promise<ExitCode> {
  const { context: contextName, watch: repeat = false, ...formatOptions } = flags as AddedFlags;
  const formatter = await createFormatter(formatOptions);
  const selects = formatOptions.json !== undefined || formatOptions.jq !== undefined;
  const input = { args, flags: selects ? { ...flags, output: 'json' } : flags };
  const context = createContext(options, formatter, contextName);
  try {
    if (repeat) {
      await watch(context, formatOptions, (repeated) => command.run({ ...input, context: repeated }));
      return exitCodes.interrupted;
    }
    await command.run({ ...input, context });
    return exitCodes.ok;
  } finally {
    context.close();
  }
}
