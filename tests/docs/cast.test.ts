import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { promptOf, readCast, writeCast, type Cast } from '../../infra/cast/cast.ts';
import { castPage } from '../../infra/cast/page.ts';
import { lessonsOf } from '../../infra/cast/tutorial.ts';

const docs = join(import.meta.dirname, '../../docs');
const read = (file: string) => readFileSync(join(docs, file), 'utf8');
const withoutPort = (text: string) => text.replaceAll(/apps\.localhost:\d+/g, 'apps.localhost');

t.test('the page shows the recording', (t) => {
  const cast = readCast(read('first-day.cast'));
  t.ok(castPage(cast) === read('first-day.md'), 'record both again: npm run cast');
  t.equal(writeCast(cast), read('first-day.cast'));
  const times = cast.events.map(([at]) => at);
  t.same(
    times,
    times.toSorted((a, b) => a - b),
  );
  t.end();
});

t.test('the recording follows the tutorial, and shows what it promises', (t) => {
  const { events } = readCast(read('first-day.cast'));
  const typed = events.filter(([, kind]) => kind === 'i').map(([, , text]) => withoutPort(text));
  const page = read('tutorials/deploy-a-folder.md');
  const commands = lessonsOf(page).flatMap((lesson) => lesson.commands.map(withoutPort));
  t.same(typed.slice(-commands.length), commands, 'record it again: npm run cast');
  t.match(typed[0], /^git clone /);
  const printed = events.map(([, kind, text]) => (kind === 'o' ? text : '')).join('');
  for (const [, block = ''] of page.matchAll(/^```text\n([\s\S]*?)^```$/gm)) {
    for (const line of block.trimEnd().split('\n')) t.ok(printed.includes(line), line);
  }
  t.notMatch(
    printed,
    /\/var\/tmp|\/root\b|svct?_[a-z0-9]{8}_[a-z0-9]{46}|(svcwh|svcs|whsec)_[a-zA-Z0-9]/,
    'no path of a machine and no secret',
  );
  t.end();
});

t.test('the commands of a tutorial: one for each line, and files as a whole', (t) => {
  const page =
    "# Title\n\n```sh\nnot in a section\n```\n\n## 1. One\n\n```sh\ncat > a <<'END'\nx\nEND\nls\n```\n\n## Two\n\nText.\n";
  t.same(lessonsOf(page), [{ title: 'One', commands: ["cat > a <<'END'\nx\nEND", 'ls'] }]);
  t.end();
});

t.test('a page has the times of its commands, and of a line that was rewritten the last text', (t) => {
  const header = { version: 2, width: 80, height: 24, title: 'A day', idle_time_limit: 2 } as const;
  const cast: Cast = {
    header,
    events: [
      [0, 'm', 'Deploy'],
      [0, 'i', 'svc deploy'],
      [0, 'o', promptOf('svc deploy')],
      [1, 'o', '\u001B[33mbuilding, 1 s'],
      [2.5, 'o', '\r\u001B[2Kbuilding, 2 s\r\u001B[2K\u001B[39mrunning\r\n'],
      [4, 'm', 'Look'],
      [4, 'i', 'ls'],
      [4, 'o', promptOf('ls')],
      [4.25, 'o', '```\r\na  b\r\n```\r\n'],
    ],
  };
  const page = castPage(cast);
  t.match(page, '| Deploy | 4.0 s | 4.0 s      |\n| Look   | 0.3 s | 4.3 s      |');
  t.match(page, '## Deploy\n\n```console\n$ svc deploy\nrunning\n```\n\nTook 4.0 s.\n\n## Look\n');
  t.match(page, '````console\n$ ls\n```\na  b\n```\n````\n', 'a block in the output does not end the block');
  t.end();
});
