import t from 'tap';
import { cleanAnswer, createAnswerCleaner } from '../../../runtime/assistant/clean-answer.ts';
import { seededRandom } from '../../support/random.ts';
import { soakFactor, testSeed } from '../../support/soak.ts';

t.test('Markdown without links stays as it is', (t) => {
  const texts = [
    'The deployment **failed**: exit code 1.\n\n- one\n- two\n\n> quote\n\n| a | b |\n| - | - |\n| 1 | 2 |\n',
    'Use `PORT=8080`, ``a`b`` and `array[0](x)` or `<div>` and `https://example.com/x`.\n',
    '```js\nconst url = "https://example.com";\nconst image = "![x](https://example.com)";\nif (a < b) {}\n```\n',
    '~~~\n```\n~~~\n',
    'a < b, 1 << 2, x > y, A & B, C:\\Users\n',
    'list[0] and [x] and (y)\n',
  ];
  for (const text of texts) t.equal(cleanAnswer(text), text);
  t.end();
});

t.test('images, links, HTML and addresses are gone', (t) => {
  const cases: [string, string][] = [
    ['![x](https://evil.test/?q=1)', 'x'],
    ['see [here](https://evil.test)', 'see here'],
    ['[[a](b)](c)', '[a] (c)'],
    ['[a][b]\n[b]: /logout', '[a] [b]\n[b] : /logout'],
    ['<img src=x onerror=alert(1)>', '‹img src=x onerror=alert(1)>'],
    ['</p><!-- x --><?y?>', '‹/p>‹!-- x -->‹?y?>'],
    ['<https://evil.test>', '<(link removed)>'],
    ['go to https://evil.test/a?b=c, then', 'go to (link removed) then'],
    ['_http://evil.test_ www.evil.test //evil.test/x', '_(link removed) (link removed) (link removed)'],
    ['mailto:a@evil.test', '(link removed)'],
    ['ht[t](x)ps://evil.test', '(link removed)'],
    ['\\![x](y)', 'x'],
    ['https&#58;//evil.test', 'https& #58;(link removed)'],
    ['a\u200bb\u202ec\u001b[2J', 'abc[2J'],
    ['ht\u200btps://evil.test', '(link removed)'],
  ];
  for (const [text, cleaned] of cases) t.equal(cleanAnswer(text), cleaned, text);
  t.end();
});

t.test('code is only what every parser sees as code', (t) => {
  const image = '![x](https://evil.test)';
  const hidden = [
    `a \`b\nc\` ${image}\` d`,
    `\` ${image}`,
    `\\\`${image}\``,
    `> \`\`\`\n${image}`,
    `- \`\`\`\n${image}`,
    `- item\n  \`\`\`\n\`\`\`\n\`\`\`\n${image}`,
    `  \`\`\`\n\`\`\`\n${image}`,
    `\`\`\`\n\`\`\`\n${image}`,
    `\`\`\`\`\n\`\`\`\n\`\`\`\`\n${image}`,
    `~~\\~\n~~~\n~~~\n${image}`,
    `| a | b |\n| - | - |\n| \`a | ${image} | b\` |`,
    `\`x\`\\\`\`${image}\`\``,
    `\`\`\`a\`b\n${image}`,
  ];
  for (const text of hidden) t.same(remains(cleanAnswer(text)), [], text);
  t.equal(cleanAnswer('1. Do:\n   ```sh\n   svc status\n   ```\n'), '1. Do:\n```sh\nsvc status\n```\n');
  t.equal(cleanAnswer('```js title="x"\na\n'), '```js\na\n```\n', 'an open block is closed');
  t.end();
});

/** The images, links and HTML that remain outside code, by rules of CommonMark that are wider than any parser's. */
function remains(text: string): string[] {
  const outside: string[] = [];
  let fence: { marker: string; length: number } | undefined;
  for (const line of text.split('\n')) {
    const [, run = ''] = /^ {0,3}(`{3,}|~{3,})/.exec(line) ?? [];
    if (fence) {
      const isClosing = run[0] === fence.marker && run.length >= fence.length && line.trim() === run;
      if (isClosing) fence = undefined;
    } else if (run !== '' && !(run[0] === '`' && line.slice(line.indexOf(run) + run.length).includes('`'))) {
      fence = { marker: run[0] ?? '', length: run.length };
    } else outside.push(line);
  }
  // Spans that end on another line, as a parser of a paragraph sees them.
  const paragraph = outside.join('\n');
  let prose = '';
  let at = 0;
  while (at < paragraph.length) {
    const [run] = /^`+/.exec(paragraph.slice(at)) ?? [];
    if (run === undefined) prose += paragraph[at++];
    else {
      const rest = paragraph.slice(at + run.length);
      const end = [...rest.matchAll(/`+/g)].find(([other]) => other.length === run.length);
      at += run.length + (end ? end.index + run.length : 0);
      prose += ' ';
    }
  }
  return prose.match(/\]\(|\]\[|\]:|<[A-Za-z/!?]|:\/\/|www\./g) ?? [];
}

const seed = testSeed();

t.test(`no mixture of marks makes a link, an image or HTML (seed ${seed})`, (t) => {
  const random = seededRandom(seed);
  const parts = [
    ...['`', '``', '```', '~~~', '\\', '\n', '\n\n', ' ', '  ', '    ', '\t', '|', '> ', '- ', '1. ', 'a', '~'],
    ...['![x](https://evil.test)', '[a](b)', '[', ']', '(', ')', '<b>', '<', '>', ':', '//', 'https:', '&#58;', '!'],
    ...['[a]: https://evil.test', '\u200b', 'www.', '```js', '$$', '*', '_'],
  ];
  for (let round = 0; round < 20_000 * soakFactor(); round++) {
    const text = Array.from({ length: random.between(1, 14) }, () => random.pick(parts)).join('');
    const cleaned = cleanAnswer(text);
    const left = remains(cleaned);
    if (left.length > 0) {
      t.same(left, [], JSON.stringify({ text, cleaned }));
      break;
    }
  }
  t.end();
});

t.test('the parts in which a text arrives change nothing', (t) => {
  const text = 'a `b` [c](https://d.test)\n```js\nx\n```\nhttps://e.test\n';
  for (const size of [1, 2, 3, 7, 100]) {
    const cleaner = createAnswerCleaner();
    let cleaned = '';
    for (let at = 0; at < text.length; at += size) cleaned += cleaner.push(text.slice(at, at + size));
    t.equal(cleaned + cleaner.end(), cleanAnswer(text), String(size));
  }
  t.end();
});

t.test('a line without end is divided, between characters', (t) => {
  const cleaned = cleanAnswer('😀'.repeat(10_000));
  t.ok(cleaned.isWellFormed());
  t.ok(cleaned.split('\n').every(({ length }) => length <= 8_000));
  t.equal(cleaned.replaceAll('\n', ''), '😀'.repeat(10_000));
  t.end();
});

/** Milliseconds of this thread's own time for one run. It repeats short work, whose time cannot be measured. */
function millisecondsOf(text: string): number {
  const before = process.threadCpuUsage();
  for (let runs = 1; ; runs++) {
    cleanAnswer(text);
    const { user, system } = process.threadCpuUsage(before);
    if (user + system > 60_000) return (user + system) / 1_000 / runs;
  }
}

/**
 * Whether a text that is eight times as long takes less than twenty times as long: 64 times if it is quadratic. What else the
 * process does, such as to collect garbage, can only make one of the attempts longer.
 */
function isLinear(input: (size: number) => string): boolean {
  const [small, large] = [input(16_384), input(8 * 16_384)];
  millisecondsOf(small);
  return Array.from({ length: 5 }).some(() => millisecondsOf(large) / millisecondsOf(small) < 20);
}

t.test('it takes linear time', (t) => {
  for (const pattern of [
    '`',
    '` ``',
    '[',
    '![a](',
    '](',
    '\\',
    '<',
    '://',
    '&',
    '```\n',
    '~~~\n',
    '`a',
    '[a](b',
    '\n',
    'a',
  ]) {
    const repeated = (size: number) => pattern.repeat(Math.ceil(size / pattern.length));
    t.ok(isLinear(repeated), JSON.stringify(pattern));
  }
  const growing = (size: number) => Array.from({ length: Math.sqrt(size) }, (_, n) => `${'`'.repeat(n % 3)} `).join('');
  t.ok(isLinear(growing));
  t.end();
});
