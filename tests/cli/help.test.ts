import t from 'tap';
import { loadCommand, loadGroup, openGroup, type Command, type Group, type LazyGroup } from '../../cli/command.ts';
import { fieldsOf } from '../../cli/data-fields.ts';
import { rootGroup } from '../../cli/commands/root.ts';
import { world } from './world.ts';

/** Phrases that have to be decoded; help uses the words of the glossary. */
const banned =
  /\b(tells?|told|whoever|nobody|somebody|anew|once more|of now|no more|any more|at most so many|goes? on|by hand|as it is|comes? about|made for|what was made|what is there|way in(to)?|in between|taken? away|takes? away|given up|is asked|asked (to|for))\b/i;

async function commandsOf(group: Group, path: string): Promise<{ path: string; command: Command }[]> {
  const own = group.commands.map((command) => ({ path: `${path} ${command.name}`, command }));
  const nested = (group.groups ?? []).map(async (child) => commandsOf(await loadGroup(child), `${path} ${child.name}`));
  return [...own, ...(await Promise.all(nested)).flat()];
}

const commands = await commandsOf(await loadGroup(rootGroup), 'svc');

for (const { path, command } of commands) {
  t.test(`help of ${path}`, async (t) => {
    const { description, flags, examples } = command;
    t.ok(description.length < 80, `one line under 80 columns, not ${description.length}: ${description}`);
    t.match(description, /^[A-Z][a-z]+ .*\.$/, 'a sentence in the imperative');
    t.notMatch(description, /^(Shows|Lists|Creates|Deletes|Sets|Prints) /);
    t.notMatch(description, banned);
    for (const [name, flag] of Object.entries(flags)) {
      const text = `--${name}: ${flag.description}`;
      t.ok(flag.description.length > 0 && flag.description.length < 90, `${text.length} ${text}`);
      t.notMatch(flag.description, banned, text);
      t.notMatch(flag.description, /^[A-Z][a-z]+ (a|the) |\.$/, `${text} is a phrase`);
      if (/\(default|; default/.test(flag.description)) {
        t.match(flag.description, /\((.*; )?default[^)]*\)( \(required\))?$/, `${text} ends with its default`);
      }
    }
    if (command.data) t.ok(fieldsOf(command.data).length > 1, '--json knows the fields of its schema');
    if (['list', 'show'].includes(command.name) && 'api' in flags) t.ok('watch' in flags, 'it only reads');
    if ('api' in flags) t.ok('context' in flags, 'it can use any saved login');
    for (const example of examples) t.ok(example.startsWith('svc '), example);
  });
}

t.test('a command that is loaded on use has the name that it is found by', async (t) => {
  const check = async (group: Group | LazyGroup): Promise<void> => {
    const { commands: entries, groups = [] } = await openGroup(group);
    for (const entry of entries)
      t.equal((await loadCommand(entry)).name, entry.name, `svc … ${group.name} ${entry.name}`);
    for (const child of [...groups, ...(group.groups ?? [])]) await check(child);
  };
  await check(rootGroup);
});

t.test('update does not show the defaults of create', async (t) => {
  const { run } = await world(t);
  const created = (await run(['app', 'create', '--help'])).stdout;
  const updated = (await run(['app', 'update', '--help'])).stdout;
  t.match(created, /--replicas <n> .*\(default 1\)/);
  t.match(updated, /--replicas <n> +number of pods\n/);
});
