import t from 'tap';
import {
  contains,
  highlighted,
  plainLines,
  plainText,
  shows,
  spansOf,
  wholeText,
} from '../../../functions/console/ui/logs/ansi.ts';
import { createLines, wholeTimes } from '../../../functions/console/ui/logs/lines.ts';
import { logSearch } from '../../../functions/console/ui/logs/search.ts';

const at = (second: number, line = `line ${second}`, pod = 'api-1') => ({
  pod,
  time: new Date(Date.UTC(2026, 0, 1, 0, 0, second)).toISOString(),
  line,
});
const texts = (items: readonly { line: string }[]) => items.map(({ line }) => line);

t.test('colours of a line are classes, and other escape sequences are left out', async (t) => {
  t.same(spansOf('plain'), [{ text: 'plain', classes: '' }]);
  t.match(spansOf('\u001B[1;31mbad\u001B[0m \u001B[4mnews\u001B[24m!'), [
    { text: 'bad', classes: /text-red-700.*font-bold/ },
    { text: ' ', classes: '' },
    { text: 'news', classes: 'underline' },
    { text: '!', classes: '' },
  ]);
  t.match(spansOf('\u001B[38;5;31mx\u001B[48;2;31;32;33my\u001B[92mz\u001B[mw'), [
    { text: 'x', classes: '' },
    { text: 'y', classes: '' },
    { text: 'z', classes: /emerald/ },
    { text: 'w', classes: '' },
  ]);
  t.equal(
    plainText('\u001B]8;;http://evil.example\u0007link\u001B]8;;\u0007 \u001B[2K\u001B[1Gdone\u001B[?25h'),
    'link done',
  );
  t.equal(plainText('10 %\r50 %\r100 %'), '100 %');
  t.equal(plainText('10 %\r50 %\r'), '50 %', 'nothing was written after the return');
  t.equal(plainText('\r'), '');
  t.same(spansOf(''), []);
  t.equal(plainLines('a\r\nb\u001B[31mc\n 10 %\r100 %\n'), 'a\nbc\n100 %\n');
});

t.test('a text that is searched is marked across colours, whatever its case', async (t) => {
  const marked = (line: string, term: string) =>
    highlighted(spansOf(line), term).map(({ text, isMatch }) => (isMatch ? `<${text}>` : text));
  t.same(marked('Error: no error', 'ERROR'), ['<Error>', ': no ', '<error>']);
  t.same(marked('a\u001B[31mb\u001B[0mc', 'bc'), ['a', '<b>', '<c>']);
  t.same(marked('aaa', 'aa'), ['<aa>', 'a']);
  t.same(
    highlighted(spansOf('a\u001B[31mb\u001B[0mc\u001B[32md'), 'x', 3).map(({ text }) => text),
    ['a', 'b', 'cd'],
    'no line makes more parts than these',
  );
  t.same(
    highlighted(spansOf('aaaa'), 'a', 3).map(({ text }) => text),
    ['a', 'a', 'aa'],
  );
  t.same(marked('abc', ''), ['abc']);
  t.same(marked('abc', 'x'), ['abc']);
  t.same(marked('\u0130stanbul x', 'x'), ['\u0130stanbul ', '<x>'], 'a letter that is longer in lower case');
  t.same(marked('in \u0130STANBUL.', 'istanbul'), ['in ', '<\u0130STANBUL>', '.']);
  t.same(marked('\u039F\u0394\u039F\u03A3\u0391', '\u039F\u0394\u039F\u03A3'), [
    '<\u039F\u0394\u039F\u03A3>',
    '\u0391',
  ]);
  t.ok(contains('\u0130 x', 'x'));
  t.ok(contains('a\u001B[31mb\u001B[0mc', 'BC'));
});

t.test('every letter is found by itself, at its position', async (t) => {
  const wrong: string[] = [];
  for (let code = 0x21; code <= 0x1ffff; code++) {
    if (code >= 0xd800 && code <= 0xdfff) continue;
    const letter = String.fromCodePoint(code);
    const [before, match] = highlighted([{ text: `- ${letter}.`, classes: '' }], letter);
    if (letter === '-' || letter === '.') continue;
    if (before?.text !== '- ' || match?.text !== letter || !match.isMatch) wrong.push(letter);
  }
  t.same(wrong, []);
});

t.test('no line hides what its program printed', async (t) => {
  t.equal(wholeText('plain'), undefined);
  t.equal(wholeText('\u001B[31mred\u001B[0m\r'), undefined, 'all of its text is shown');
  t.equal(wholeText('10 %\r100 %\r'), '10 %\u240D100 %\u240D');
  t.equal(wholeText('rm -rf /\r\u001B[2Kall \u001B[32mis well'), 'rm -rf /\u240Dall is well');
  t.equal(wholeText('\u001B]0;rm -rf /\u0007all is well'), '\u241B]0;rm -rf /\u2407all is well');
  t.equal(wholeText('\u001B]8;;http://evil.example\u001B\\link'), '\u241B]8;;http://evil.example\u241B\\link');

  const hidden = [
    'rm -rf /\rall is well',
    'r\u001B[31mm -r\u001B]0;x\u0007f /\rall is well',
    '\u001B]0;rm -rf /\u0007all is well',
    'x\u001B]0;rm -rf /\u0007\rall is well',
  ];
  for (const line of hidden) {
    t.ok(contains(line, 'RM -rf'), JSON.stringify(line));
    t.notOk(shows(line, 'rm -rf'));
    t.ok(contains(line, 'all is well') && shows(line, 'all is well'));
    t.not(wholeText(line), undefined);
    t.notOk(contains(line, 'x-'));
  }
  t.notOk(shows('a', '') || contains('a', ''));
});

t.test('the newest lines are kept, and the page knows how many it has dropped', async (t) => {
  const lines = createLines(3);
  let changes = 0;
  const unsubscribe = lines.subscribe(() => changes++);
  lines.append([at(1), at(2)]);
  const before = lines.items();
  lines.append([at(3), at(4), at(5)]);
  t.not(lines.items(), before);
  t.same(texts(lines.items()), ['line 3', 'line 4', 'line 5']);
  t.equal(lines.dropped(), 2);
  lines.append([]);
  t.equal(changes, 2);
  unsubscribe();
  t.equal(new Set(lines.items().map(({ id }) => id)).size, 3);
});

t.test('long lines take the place of more lines', async (t) => {
  const lines = createLines(100, 25);
  t.ok(lines.hasRoom(50));
  lines.append([at(1, 'x'.repeat(10)), at(2, 'y'.repeat(10)), at(3, 'z'.repeat(10))]);
  t.same(texts(lines.items()), ['y'.repeat(10), 'z'.repeat(10)]);
  t.equal(lines.dropped(), 1);
  t.notOk(lines.hasRoom(1), 'older lines would drop others');
  lines.append([at(4, 'w'.repeat(50))]);
  t.equal(lines.items().length, 1, 'the newest line stays, however long it is');
});

t.test('older lines come first, and late ones where their time is', async (t) => {
  const lines = createLines(100);
  lines.append([at(5), at(6)]);
  lines.prepend([at(1), at(2)]);
  lines.append([{ ...at(3), late: true as const }, at(7)]);
  t.same(texts(lines.items()), ['line 1', 'line 2', 'line 3', 'line 5', 'line 6', 'line 7']);
});

t.test('a stream that continues repeats lines, of which each is taken once', async (t) => {
  const lines = createLines(100);
  t.equal(lines.continuesFrom(), undefined);
  lines.append([at(1), at(29), at(30, 'twice'), at(30, 'twice'), at(30, 'other', 'api-2')]);
  t.equal(lines.continuesFrom(), at(20).time);
  const isFresh = lines.isFresh();
  const stream = [
    at(25, 'late of another pod', 'api-2'),
    at(29),
    at(30, 'twice'),
    at(30, 'twice'),
    at(30, 'twice'),
    at(31),
  ];
  t.same(texts(stream.filter(isFresh)), ['late of another pod', 'twice', 'line 31'], 'printed three times');
});

t.test('a line of the very moment from which a stream continues is taken once', async (t) => {
  const lines = createLines(100);
  const exact = { pod: 'api-1', time: '2026-01-01T00:00:20.123456789Z', line: 'tick' };
  lines.append([exact, { ...exact, time: '2026-01-01T00:00:30.123456789Z' }]);
  t.equal(lines.continuesFrom(), '2026-01-01T00:00:20.000Z');
  t.notOk(lines.isFresh()(exact));
});

t.test('a full page ends where the next one begins', async (t) => {
  t.same(texts(wholeTimes([at(1, 'a'), at(1, 'b'), at(2, 'c')])), ['c']);
  t.same(texts(wholeTimes([at(1, 'a'), at(1, 'b')])), ['a', 'b']);
  t.same(wholeTimes([]), []);
});

t.test('an address says what of a log is shown, and what is not valid is left out', async (t) => {
  const full = { since: '6h', level: 'warn', pod: 'api-1', q: 'x', nowrap: true, nofollow: true, at: at(1).time };
  t.same(logSearch(full), full);
  t.same(
    logSearch({ since: 'toString', level: 'x', pod: 1, q: '', nowrap: 'yes', nofollow: 0, at: 'yesterday-ish' }),
    {},
  );
});
