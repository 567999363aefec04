import t from 'tap';
import { createTurnLookup } from '../../../runtime/db/turn-lookup.ts';

const nextTurn = () => new Promise((resolve) => setImmediate(resolve));

t.test('one statement finds what is asked for in one turn', async (t) => {
  const statements: (readonly string[])[] = [];
  const lookUp = createTurnLookup(async (keys: readonly string[]) => {
    statements.push(keys);
    return keys.map((key) => (key === 'unknown' ? undefined : key.toUpperCase()));
  });
  t.same(await Promise.all([lookUp('a'), lookUp('unknown'), lookUp('b')]), ['A', undefined, 'B']);
  t.same(statements, [['a', 'unknown', 'b']]);
});

t.test('a look-up never gets the answer of a statement that began before it', async (t) => {
  let value = 'old';
  const begun: string[] = [];
  const answers = Promise.withResolvers<void>();
  const lookUp = createTurnLookup(async (keys: readonly string[]) => {
    const read = value;
    begun.push(read);
    await answers.promise;
    return keys.map(() => read);
  });
  const first = lookUp('key');
  await nextTurn();
  t.same(begun, ['old']);
  value = 'new';
  const second = lookUp('key');
  answers.resolve();
  t.same(await Promise.all([first, second]), ['old', 'new']);
});

t.test('a statement that fails fails only its own look-ups', async (t) => {
  let fails = true;
  const lookUp = createTurnLookup(async (keys: readonly string[]) => {
    if (fails) throw new Error('the database is away');
    return keys;
  });
  const lookUps = [lookUp('a'), lookUp('b')];
  for (const each of lookUps) await t.rejects(each, { message: 'the database is away' });
  fails = false;
  t.equal(await lookUp('a'), 'a');
});
