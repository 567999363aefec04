import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import t from 'tap';

/** Links between pages, and references from code to pages, lead to a page and a heading that exist. */
const root = join(import.meta.dirname, '../..');
const files = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], {
  cwd: root,
  encoding: 'utf8',
})
  .split('\n')
  .filter((file) => file !== '' && existsSync(join(root, file)));

const contents = new Map<string, string>();
function read(file: string): string {
  const text = contents.get(file) ?? readFileSync(join(root, file), 'utf8');
  contents.set(file, text);
  return text;
}

/** The anchors of a page, as GitHub makes them from its headings. */
function anchorsOf(page: string): Set<string> {
  const headings = read(page)
    .replaceAll(/^```[\s\S]*?^```$/gm, '')
    .matchAll(/^#{1,6} (.+)$/gm);
  return new Set(
    [...headings].map(([, title = '']) =>
      title
        .toLowerCase()
        .replaceAll(/[^\p{Letter}\p{Number}\s_-]/gu, '')
        .trim()
        .replaceAll(/\s/g, '-'),
    ),
  );
}

/** Why a link is broken: the page or its heading does not exist. */
function fault(page: string, anchor: string | undefined): string | undefined {
  if (!existsSync(join(root, page))) return `${page} does not exist`;
  if (anchor !== undefined && page.endsWith('.md') && !anchorsOf(page).has(anchor)) return `${page} has no #${anchor}`;
  return undefined;
}

t.test('links between pages', (t) => {
  const faults = files
    .filter((file) => file.endsWith('.md'))
    .flatMap((file) =>
      [...read(file).matchAll(/\]\((?!https?:|mailto:)([^)#\s]*)(?:#([^)\s]+))?\)/g)].flatMap(
        ([, path = '', anchor]) => {
          const page = path === '' ? file : relative(root, resolve(root, dirname(file), path));
          const wrong = fault(page, anchor);
          return wrong === undefined ? [] : [`${file}: ${wrong}`];
        },
      ),
    );
  t.same(faults, []);
  t.end();
});

t.test('references from code', (t) => {
  const faults = files
    .filter((file) => /\.(ts|mjs|js|py|sql|sh)$/.test(file))
    .flatMap((file) =>
      [...read(file).matchAll(/\bdocs\/[\w/-]+\.md(?:#([\w-]+))?/g)].flatMap(([reference, anchor]) => {
        const wrong = fault(reference.replace(/#.*/, ''), anchor);
        return wrong === undefined ? [] : [`${file}: ${wrong}`];
      }),
    );
  t.same(faults, []);
  t.end();
});

t.test('decisions that are mentioned exist', (t) => {
  const numbers = new Set(files.flatMap((file) => /^docs\/decisions\/(\d{4})-/.exec(file)?.[1] ?? []));
  const faults = files
    .filter((file) => /\.(ts|md|sql)$/.test(file))
    .flatMap((file) =>
      [...read(file).matchAll(/\bdecisions? (\d{4})\b/g)]
        .filter(([, number = '']) => !numbers.has(number))
        .map(([mention]) => `${file}: ${mention}`),
    );
  t.same(faults, []);
  t.end();
});

t.test('every decision has its number and a status, and is in the index', (t) => {
  const index = read('docs/decisions/README.md');
  const faults = files
    .filter((file) => /^docs\/decisions\/\d{4}-/.test(file))
    .filter((file) => {
      const name = file.slice('docs/decisions/'.length);
      const heading = new RegExp(`^# ${name.slice(0, 4)}: .+\n\nStatus: `);
      return !heading.test(read(file)) || !index.includes(`](${name})`);
    });
  t.same(faults, []);
  t.end();
});

t.test('nothing refers to documents that are not in the repository', (t) => {
  const faults = files
    .filter((file) => /\.(ts|mjs|js|py|sql|sh|md)$/.test(file) && !file.startsWith('tests/docs/'))
    .flatMap((file) =>
      [...read(file).matchAll(/\b(?:spec|design|field-notes)\.md\b/g)].map(([mention]) => `${file}: ${mention}`),
    );
  t.same(faults, []);
  t.end();
});
