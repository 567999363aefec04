import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { rootGroup } from '../../cli/commands/root.ts';
import { documentsOf } from '../../cli/reference/documents.ts';
import packageFile from '../../package.json' with { type: 'json' };

const documents = await documentsOf(rootGroup, packageFile.version);

for (const [file, content] of Object.entries(documents)) {
  t.test(`${file} is what npm run docs writes`, async (t) => {
    // The documents are long, so their difference is not printed.
    t.ok(readFileSync(join(import.meta.dirname, '../..', file), 'utf8') === content, 'run npm run docs');
  });
}

t.test('the documents have the commands of all levels, their options, examples and exit codes', async (t) => {
  const page = documents['docs/reference/commands.md'] ?? '';
  const manual = documents['docs/svc.1'] ?? '';
  for (const name of ['svc up', 'svc app create', 'svc app webhook deliveries', 'svc function dead-letters list']) {
    t.ok(page.includes(`\n### ${name}\n`), name);
    t.ok(manual.includes(`.SS "${name.replaceAll('-', String.raw`\-`)}`), name);
  }
  const start = page.indexOf('### svc app update');
  const section = page.slice(start, page.indexOf('###', start + 3));
  t.match(section, /^svc app update <app> \[options\]$/m);
  t.match(section, /^ {4}--timeout <duration> +how long to wait, such as 90s or 10m \(default 5m\)$/m);
  t.match(section, /```sh\nsvc app update api --image /);
  t.match(section, /Fields of `--json`: `autoRollback`, /);
  t.match(section, /^Exit codes: 0, 1, 2, 3, 4, 130\.$/m);
  t.notMatch(page + manual, 'failpoints', 'hidden options are left out');
  t.notMatch(page, '__complete');
  t.notMatch(manual, /^[^.\\A-Za-z0-9<[*"'=]/m, 'no line starts with what roff could read');
});
