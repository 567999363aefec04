import t from 'tap';
import { allItems, planOptions } from '../../../functions/console/ui/keys/plan-choice.ts';

t.test('all pages of a list are read', async (t) => {
  const cursors: (string | undefined)[] = [];
  const pages = [{ items: [1, 2], nextCursor: 'b' }, { items: [3], nextCursor: 'c' }, { items: [] }];
  const items = await allItems(async (cursor) => {
    cursors.push(cursor);
    return pages[cursors.length - 1] ?? { items: [] };
  });
  t.same(items, [1, 2, 3]);
  t.same(cursors, [undefined, 'b', 'c']);
  await t.rejects(
    allItems(async () => {
      throw new Error('forbidden');
    }),
    /forbidden/,
  );
});

t.test('the plan of a key stays, also where the list of plans does not have it', async (t) => {
  const values = (...options: Parameters<typeof planOptions>) => planOptions(...options).map(({ value }) => value);
  t.same(values(['large', 'small'], 'small'), ['large', 'small']);
  t.same(values(['large'], 'small'), ['small', 'large']);
  t.same(values([], 'small'), ['small']);
  t.same(values(['large'], undefined), ['large']);
});
