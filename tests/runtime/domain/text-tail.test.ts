import t from 'tap';
import { textTail } from '../../../runtime/domain/text-tail.ts';

t.test('the end of a text starts at a line, or else at a character', async (t) => {
  for (const [text, maxBytes, tail, truncated] of [
    ['', 3, '', false],
    ['abc', 3, 'abc', false],
    ['a\nbc\nd', 4, 'bc\nd', true],
    ['a\nbc\nd', 5, 'bc\nd', true],
    ['a\nbc\nd', 3, 'd', true],
    // The last line is longer than the limit.
    ['a\nbcdef', 3, 'def', true],
    ['abcdef\n', 3, 'ef\n', true],
    ['\nabcdef', 3, 'def', true],
    ['aüb', 2, 'b', true],
    ['aüb', 3, 'üb', true],
    ['a\u{1f600}', 3, '', true],
  ] as const) {
    t.same(textTail(Buffer.from(text), maxBytes), { text: tail, truncated }, `${JSON.stringify(text)}, ${maxBytes}`);
  }
});
