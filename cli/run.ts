import type { Group, LazyGroup } from './command.ts';
import { createContext, type ProgramOptions } from './context.ts';
import { exitCodes } from './failure.ts';
import { createFormatter, type FormatOptions } from './formatter.ts';
import type { Parsed } from './parse.ts';

/**
 * What `svc __complete <words>` prints for the scripts of `svc completion`: a line for each word that can stand at the
 * cursor, with its description after a tab, or `:files`. The last of the words is the one at the cursor.
 */
export async function completionText(
  root: Group | LazyGroup,
  words: readonly string[],
  options: ProgramOptions,
): Promise<string> {
  const { complete } = await import('./completion.ts');
  // The script for PowerShell writes an empty word as "".
  const line = words.map((word) => (word === '""' ? '' : word));
  const context = createContext(options, await createFormatter({}), contextIn(words));
  try {
    const completion = await complete(root, line, context);
    if (completion === 'files') return ':files\n';
    return completion.map(({ word, description }) => `${word}${description ? `\t${description}` : ''}\n`).join('');
  } finally {
    context.close();
  }
}

/** The value of `--context` on an incomplete command line. */
function contextIn(words: readonly string[]): string | undefined {
  const index = words.findIndex((word) => word === '--context' || word.startsWith('--context='));
  const word = words[index];
  if (word === undefined || index >= words.length - 1) return undefined;
  return word === '--context' ? words[index + 1] : word.slice('--context='.length);
}

/** The options that {@link command} adds to those of a command. */
type AddedFlags = FormatOptions & { context?: string; watch?: boolean };

/** Runs the command of a command line. @throws Failure */
export async function run(
  { command, args, words, flags }: Parsed & { action: 'run' },
  options: ProgramOptions,
): Promise<number> {
  const { context: contextName, watch: repeat = false, ...formatOptions } = flags as AddedFlags;
  const formatter = await createFormatter(formatOptions);
  const selects = formatOptions.json !== undefined || formatOptions.jq !== undefined;
  const input = { args, words, flags: selects ? { ...flags, output: 'json' } : flags };
  const context = createContext(options, formatter, contextName);
  try {
    if (repeat) {
      const { watch } = await import('./watch.ts');
      await watch(context, formatOptions, async (repeated) => {
        await command.run({ ...input, context: repeated });
      });
      return exitCodes.interrupted;
    }
    return (await command.run({ ...input, context })) ?? exitCodes.ok;
  } finally {
    context.close();
  }
}
