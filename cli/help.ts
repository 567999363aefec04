import type { Command, Group } from './command.ts';
import { flagName, type Flag } from './flags.ts';
import { columns } from './output.ts';
import { bracketed, wordsOf } from './parse.ts';

/** The help of a group: its commands and groups. */
export function groupHelp(path: readonly string[], group: Group): string {
  const prefix = path.join(' ');
  const commands = columns(
    [...group.commands.filter(({ hidden }) => !hidden), ...(group.groups ?? [])].map(({ name, description }) => [
      `  ${name}`,
      description,
    ]),
  );
  return [
    group.description,
    `Usage:\n  ${prefix} <command> [options]`,
    `Commands:\n${commands}`,
    `Run ${prefix} <command> --help for details.`,
  ].join('\n\n');
}

/** The help of one command. */
export function commandHelp(path: readonly string[], command: Command): string {
  return [
    command.description,
    `Usage:\n  ${usageOf(path, command)}`,
    `Options:\n${columns([...optionsOf(command), helpRow].map(([option, text]) => [`  ${option}`, text]))}`,
    ...(command.examples.length === 0
      ? []
      : [`Examples:\n${command.examples.map((example) => `  $ ${example}`).join('\n')}`]),
  ].join('\n\n');
}

/** The form of a command line, such as `svc app show <app> [options]`. */
export function usageOf(path: readonly string[], command: Command): string {
  const options = Object.keys(command.flags).length === 0 ? [] : ['[options]'];
  return [path.join(' '), ...command.args.map(bracketed), ...options, ...wordsOf(command)].join(' ');
}

const helpRow = ['-h, --help', 'show this help'] as const;

/** The options of a command with their descriptions. */
export function optionsOf({ flags }: Pick<Command, 'flags'>): (readonly [option: string, description: string])[] {
  const visible = Object.entries(flags).filter(([, flag]) => !flag.hidden);
  return visible.map(([key, flag]) => [option(key, flag), flag.description]);
}

function option(key: string, flag: Flag<unknown>): string {
  const short = flag.short === undefined ? '    ' : `-${flag.short}, `;
  return `${short}${flagName(key, flag)}${flag.placeholder === undefined ? '' : ` ${flag.placeholder}`}`;
}
