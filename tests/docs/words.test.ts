import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseSync, Visitor } from 'oxc-parser';
import t from 'tap';

/** The code says what it is about in the words of the field: names are nouns and verbs, and no phrase has to be decoded. */
const root = join(import.meta.dirname, '../..');
const files = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', '*.ts', '*.mjs', '*.js'], {
  cwd: root,
  encoding: 'utf8',
})
  .split('\n')
  .filter((file) => file !== '' && existsSync(join(root, file)));

/** Says how a value came about, and not what it is. */
const participle = /^(found|known|given|wanted|said|made|asked|told|heard|mine|theirs|nobody)$/;
/** A field of the management API has the name. */
const exceptions = ['cli/commands/app-git.ts: given', 'functions/git/handler.ts: given'];
const phrase =
  /\b(whoever|somebody|anybody|once more|so many|of now|way into|(?:came|comes?) about|brings? about|tells? of|hears? of|amid)\b/i;

t.test('no variable is named after what happened to it', (t) => {
  const faults: string[] = [];
  for (const file of files) {
    const { program } = parseSync(file, readFileSync(join(root, file), 'utf8'));
    const declare = (pattern: unknown): void => {
      const node = pattern as { type?: string; name?: string } & Record<string, unknown>;
      if (node?.type === 'Identifier' && participle.test(node.name ?? '')) faults.push(`${file}: ${node.name}`);
      for (const part of [node?.['value'], node?.['argument'], node?.['left']]) if (part) declare(part);
      for (const list of [node?.['properties'], node?.['elements']]) if (Array.isArray(list)) list.forEach(declare);
    };
    const declareAll = ({ params }: { params: unknown[] }) => params.forEach(declare);
    new Visitor({
      VariableDeclarator: ({ id }) => declare(id),
      FunctionDeclaration: declareAll,
      FunctionExpression: declareAll,
      ArrowFunctionExpression: declareAll,
    }).visit(program);
  }
  t.same(
    [...new Set(faults)].filter((fault) => !exceptions.includes(fault)),
    [],
  );
  t.end();
});

t.test('no comment, message or title has a phrase that has to be decoded', (t) => {
  const faults = files
    .filter((file) => file !== 'tests/cli/help.test.ts' && file !== 'tests/docs/words.test.ts')
    .flatMap((file) =>
      readFileSync(join(root, file), 'utf8')
        .split('\n')
        .flatMap((line, index) => {
          const [match] = phrase.exec(line) ?? [];
          return match === undefined ? [] : [`${file}:${index + 1}: ${match}`];
        }),
    );
  t.same(faults, []);
  t.end();
});
