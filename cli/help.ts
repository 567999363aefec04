import type { Command, Group } from './command.ts';
import { flagName, type Flag } from './flags.ts';
import { columns } from './output.ts';
import { bracketed } from './parse.ts';

/** The help of a group: its commands and groups. */
export function groupHelp(path: readonly string[], group: Group): string {
  const typed = path.join(' ');
  const commands = columns(
    [...group.commands, ...(group.groups ?? [])].map(({ name, description }) => [`  ${name}`, description]),
  );
  return [
    group.description,
    `Usage:\n  ${typed} <command> [options]`,
    `Commands:\n${commands}`,
    `Run ${typed} <command> --help for details.`,
  ].join('\n\n');
}

/** The help of one command. */
export function commandHelp(path: readonly string[], command: Command): string {
  const usage = [path.join(' '), ...command.args.map(bracketed), '[options]'].join(' ');
  const options = Object.entries(command.flags).filter(([, flag]) => !flag.hidden);
  return [
    command.description,
    `Usage:\n  ${usage}`,
    `Options:\n${columns([...options.map(([key, flag]) => [option(key, flag), flag.description]), helpRow])}`,
    ...(command.examples.length === 0
      ? []
      : [`Examples:\n${command.examples.map((example) => `  $ ${example}`).join('\n')}`]),
  ].join('\n\n');
}

const helpRow = ['  -h, --help', 'show this help'];

function option(key: string, flag: Flag<unknown>): string {
  const short = flag.short === undefined ? '    ' : `-${flag.short}, `;
  return `  ${short}${flagName(key, flag)}${flag.placeholder === undefined ? '' : ` ${flag.placeholder}`}`;
}
