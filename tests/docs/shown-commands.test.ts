import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseSync, Visitor, type CallExpression } from 'oxc-parser';
import t from 'tap';
import { rootGroup } from '../../cli/commands/root.ts';
import { documentsOf } from '../../cli/reference/documents.ts';
import { alerts } from '../../infra/manifests/monitoring/alert-rules.ts';

/** Commands that the console and alerts show exist: who copies one has no other way to learn its name. */
const root = join(import.meta.dirname, '../..');
const { 'docs/reference/commands.md': reference = '' } = await documentsOf(rootGroup, '1.0.0');
const sections = new Map(
  reference
    .split(/^### /m)
    .slice(1)
    .map((section) => [section.slice(0, section.indexOf('\n')), section]),
);
/** The first word of a command where the source has a variable. */
const kinds = ['app', 'function', 'job', 'service', 'volume'];

/** The section of the command that the words begin with, or those of a group of which the words are the name. */
function sectionsOf(words: readonly string[]): string[] {
  const names = words.map((_, index) => ['svc', ...words.slice(0, index + 1)].join(' '));
  const section = sections.get(names.findLast((name) => sections.has(name)) ?? '');
  if (section !== undefined) return [section];
  return [...sections].flatMap(([name, text]) => (name.startsWith(`${names.at(-1)} `) ? [text] : []));
}

/** What is wrong with a command: an unknown name, or an option that it does not have. */
function faultsOf(words: readonly string[], options: readonly string[]): string[] {
  const possible = sectionsOf(words);
  if (possible.length === 0) return [`svc ${words.join(' ')} does not exist`];
  return options
    .filter((option) => !possible.some((section) => new RegExp(`${option}\\b(?!-)`).test(section)))
    .map((option) => `svc ${words.join(' ')} has no ${option}`);
}

/** The texts of a call's arguments: those at the beginning, and all that are options. */
function textsOf(call: CallExpression, code: string) {
  const leading: (string | undefined)[] = [];
  for (const argument of call.arguments) {
    const text = argument.type === 'Literal' && typeof argument.value === 'string' ? argument.value : undefined;
    if ((text === undefined && leading.length > 0) || text?.startsWith('-')) break;
    leading.push(text);
  }
  const options = [...code.slice(call.start, call.end).matchAll(/'(--[a-z][a-z-]+)'/g)].map(
    ([, option = '']) => option,
  );
  return { leading, options };
}

t.test('each command of the console exists, with its options', (t) => {
  const faults: string[] = [];
  let count = 0;
  for (const file of globSync('functions/console/ui/**/*.{ts,tsx}', { cwd: root })) {
    const code = readFileSync(join(root, file), 'utf8');
    new Visitor({
      CallExpression(call) {
        if (call.callee.type !== 'Identifier' || call.callee.name !== 'commandOf') return;
        // The command begins with what another place of the source has.
        if (call.arguments[0]?.type === 'SpreadElement') return;
        const { leading, options } = textsOf(call, code);
        const [first, ...rest] = leading;
        const words = rest.filter((word) => word !== undefined);
        if (first === undefined && words.length === 0) return;
        count += 1;
        const candidates = (first === undefined ? kinds : [first]).map((kind) => faultsOf([kind, ...words], options));
        if (candidates.every(({ length }) => length > 0)) faults.push(`${file}: ${candidates[0]?.join(', ')}`);
      },
    }).visit(parseSync(file, code).program);
  }
  t.same(faults, []);
  t.ok(count > 80, `${count} commands are checked`);
  t.end();
});

t.test('each command in the text of an alert exists, with its options', (t) => {
  const commands = alerts.flatMap(({ description }) => [...description.matchAll(/\bsvc ([a-z][a-z-]*(?: [a-z-]+)*)/g)]);
  t.ok(commands.length > 0);
  for (const [, text = ''] of commands) {
    const words = text.split(' ');
    t.same(
      faultsOf(
        words.filter((word) => !word.startsWith('-')),
        words.filter((word) => word.startsWith('--')),
      ),
      [],
    );
  }
  t.end();
});
