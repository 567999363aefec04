import t from 'tap';
import { guessableLength } from '../../../runtime/domain/password-strength.ts';

/** Characters that no rule takes together. */
const unguessable = (count: number, start = 0x4e00) =>
  Array.from({ length: count }, (_, index) => String.fromCodePoint(start + 7 * index)).join('');

t.test('a text that is guessed first counts as one character', (t) => {
  for (const [password, length] of [
    ['', 0],
    ['x', 1],
    ['x?', 2],
    // Words: the longest that begins here.
    ['superman', 1],
    ['passphrase', 1],
    ['P4ssphr4se', 1],
    ['horse?cat', 3],
    // Runs of three along a row, in either direction.
    ['qwe', 1],
    ['-qwe', 2],
    ['bcd', 1],
    ['dcb', 1],
    ['op', 2],
    ['q-e', 3],
    // Repetitions: one for the first, one for all others, and one for a run of one character.
    ['kk', 2],
    ['kkk', 1],
    ['κkkkk', 2],
    ['κλμκλμ', 4],
    ['κλκλ', 3],
    ['κλμκλμ?', 5],
    ['doggg', 2],
    ['κλμ', 3],
    // Years.
    ['2024', 1],
    ['2024κ', 2],
    ['κ1999', 2],
    ['κ2124λ', 6],
  ] as const) {
    t.equal(guessableLength(password), length, password);
  }
  t.equal(guessableLength('bob'), 3);
  t.equal(guessableLength('bob', ['BOB', 'x']), 1, 'a known word of three characters');
  t.equal(guessableLength('bo', ['bo']), 2, 'two characters are no word');
  t.end();
});

t.test('a block of at most 32 characters is recognised when it repeats', (t) => {
  for (const [size, length] of [
    [32, 33],
    [33, 66],
  ] as const) {
    t.equal(guessableLength(unguessable(size).repeat(2)), length);
  }
  t.end();
});
