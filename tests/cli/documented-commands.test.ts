import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { loadGroup, type Group } from '../../cli/command.ts';
import { rootGroup } from '../../cli/commands/root.ts';
import { parseCommandLine } from '../../cli/parse.ts';

/** Every command line that the documentation and the help show can be copied: the command, its arguments and flags exist. */
const root = join(import.meta.dirname, '../..');
const pages = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', '*.md'], {
  cwd: root,
  encoding: 'utf8',
})
  .split('\n')
  .filter((file) => file !== '' && !file.startsWith('docs/decisions/'));

/** The `svc` commands of a shell text, without comments, redirections and what follows an operator. */
function commandsIn(text: string): string[] {
  const lines = text.replaceAll(/\\\n\s*/g, ' ').split('\n');
  return lines.flatMap((line) => /(?:^|[;&|(=]\s*|\$\()(svc .*)$/.exec(line.trim())?.[1] ?? []);
}

/** The words of a command, up to a comment or an operator of the shell. */
function wordsOf(command: string): string[] {
  const words: string[] = [];
  for (const [part] of command.matchAll(/(?:'[^']*'|"[^"]*"|[^\s'"|;&<>)#]|(?<=\S)#|<[a-z][\w|-]*>)+|[|;&<>)#]/g)) {
    if (/^[|;&<>)#]$/.test(part)) break;
    words.push(part.replaceAll(/'([^']*)'|"([^"]*)"/g, '$1$2'));
  }
  return words;
}

/** The `svc` commands in the cells of tables, such as those beside the commands of another platform. */
function commandsInTables(page: string): string[] {
  const rows = page.split('\n').filter((line) => line.startsWith('|'));
  return rows.flatMap((row) => [...row.matchAll(/`(svc [^`]*)`/g)].map(([, text = '']) => text));
}

async function faultsOf(source: string, commands: readonly string[]): Promise<string[]> {
  const faults = await Promise.all(
    commands.map((command) =>
      parseCommandLine(rootGroup, wordsOf(command).slice(1)).then(
        () => [],
        (error: Error) => [`${source}: ${command}: ${error.message}`],
      ),
    ),
  );
  return faults.flat();
}

async function examplesOf(group: Group): Promise<string[]> {
  const own = group.commands.flatMap(({ examples }) => examples);
  const nested = (group.groups ?? []).map(async (child) => examplesOf(await loadGroup(child)));
  return [...own, ...(await Promise.all(nested)).flat()];
}

t.test('the commands of the documentation', async (t) => {
  let count = 0;
  const faults = await Promise.all(
    pages.map((page) => {
      const blocks = readFileSync(join(root, page), 'utf8').matchAll(/^ *```sh\n([\s\S]*?)^ *```$/gm);
      const commands = [...blocks].flatMap(([, text = '']) => commandsIn(text));
      count += commands.length;
      return faultsOf(page, commands);
    }),
  );
  t.same(faults.flat(), []);
  t.ok(count > 100, `${count} commands`);
});

t.test('the commands beside those of other platforms', async (t) => {
  const page = 'docs/how-to/come-from-another-platform.md';
  const commands = commandsInTables(readFileSync(join(root, page), 'utf8'));
  t.same(await faultsOf(page, commands), []);
  t.ok(commands.length > 50, `${commands.length} commands`);
});

t.test('the examples of the help', async (t) => {
  const examples = await examplesOf(await loadGroup(rootGroup));
  t.same(await faultsOf('help', examples), []);
  t.ok(examples.length > 100, `${examples.length} examples`);
});

t.test('a command that does not exist, or lacks an argument, is reported', async (t) => {
  const wrong = ['svc app lst', 'svc app show', 'svc app list --al  # all', "svc app env set api 'A=1 # 2' --nope"];
  t.match(await faultsOf('page', wrong), [/Unknown command/, /is missing/, /Unknown option --al/, /--nope/]);
});
