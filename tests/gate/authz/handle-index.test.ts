import t from 'tap';
import { createHandleIndex } from '../../../gate/authz/handle-index.ts';
import { generateApiKey } from '../../../runtime/domain/api-key.ts';
import { seededRandom } from '../../support/random.ts';

t.test('does what a Map does, through growth and any order of changes', (t) => {
  for (const [seed, handles] of [
    [1, 10],
    [2, 400],
    [3, 3_000],
    [4, 20_000],
  ] as const) {
    const random = seededRandom(seed);
    // Close to each other, far apart, and at both ends of what a handle can be.
    const known = Array.from({ length: handles }, (_, index) => {
      if (index === 0) return '00000000';
      if (index === 1) return 'zzzzzzzz';
      return index % 2 === 0 ? index.toString(36).padStart(8, '0') : generateApiKey().handle;
    });
    const model = new Map<string, number>();
    const index = createHandleIndex<number>();
    let wrong = 0;
    for (let step = 0; step < 60_000; step++) {
      const handle = random.pick(known);
      // Turns between growing and shrinking.
      if (random.chance(step % 20_000 < 12_000 ? 0.7 : 0.2)) {
        index.set(handle, step);
        model.set(handle, step);
      } else {
        index.delete(handle);
        model.delete(handle);
      }
      const other = random.pick(known);
      if (index.get(handle) !== model.get(handle) || index.get(other) !== model.get(other)) wrong++;
    }
    for (const handle of known) if (index.get(handle) !== model.get(handle)) wrong++;
    t.equal(wrong, 0, `seed ${seed}`);
    t.equal(index.size(), model.size, `seed ${seed}`);
  }
  t.end();
});

t.test('what is no handle is not there, and disturbs nothing', (t) => {
  const index = createHandleIndex<string>();
  index.set('abcdefgh', 'kept');
  for (const text of [
    '',
    'abcdefg',
    'abcdefghi',
    'ABCDEFGH',
    'abcdefg_',
    'äbcdefgh',
    '{bcdefgh',
    '`bcdefgh',
    '/bcdefg:',
  ]) {
    index.set(text, 'lost');
    t.equal(index.get(text), undefined, text);
    index.delete(text);
  }
  t.equal(index.get('abcdefgh'), 'kept');
  t.equal(index.size(), 1);
  t.end();
});
