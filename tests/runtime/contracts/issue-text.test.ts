import t from 'tap';
import { z } from 'zod';
import { issueText } from '../../../runtime/contracts/issue-text.ts';

const schema = z
  .strictObject({
    path: z.string().startsWith('/'),
    name: z.string().min(2).max(3),
    count: z.int().min(1).max(5),
    size: z.enum(['small', 'large']),
    fixed: z.literal('one'),
    list: z.array(z.string()).max(1),
    url: z.url(),
    time: z.iso.datetime(),
    enabled: z.boolean(),
    either: z.union([z.string(), z.int()]),
    code: z.string().regex(/^a$/),
    nested: z.strictObject({ deep: z.string() }),
    even: z.int().refine((value) => value % 2 === 0, 'must be even'),
  })
  .partial();

t.test('an error names the rule that the field breaks, without the field’s value', (t) => {
  const cases: [value: unknown, text: string][] = [
    [{ path: 'secret' }, 'path must start with "/"'],
    [{ name: 1 }, 'name must be a string'],
    [{ name: 'a' }, 'name must have at least 2 characters'],
    [{ name: 'abcd' }, 'name must have at most 3 characters'],
    [{ count: 0 }, 'count must be at least 1'],
    [{ count: 9 }, 'count must be at most 5'],
    [{ count: 1.5 }, 'count must be a whole number'],
    [{ size: 'huge' }, 'size must be one of small, large'],
    [{ fixed: 'two' }, 'fixed must be one'],
    [{ list: ['a', 'b'] }, 'list must have at most 1 items'],
    [{ list: 'a' }, 'list must be a list'],
    [{ url: 'x' }, 'url must be a valid URL'],
    [{ time: 'x' }, 'time must be a time such as 2027-01-31T12:00:00Z'],
    [{ enabled: 1 }, 'enabled must be true or false'],
    [{ either: true }, 'either has none of the forms that it may have'],
    [{ code: 'b' }, 'code does not have the form that it must have'],
    [{ nested: {} }, 'nested.deep is missing'],
    [{ even: 1 }, 'even must be even'],
    [{ one: 1, two: 2 }, 'the body has no field "one" and no field "two"'],
    [[], 'the body must be an object'],
  ];
  for (const [value, text] of cases) {
    const { error } = schema.safeParse(value);
    t.same(
      error?.issues.slice(0, 1).map((issue) => issueText('body', issue)),
      [text],
    );
  }
  t.end();
});

t.test('a parameter is named as one', (t) => {
  const limit = z.object({ limit: z.coerce.number().int() }).safeParse({ limit: '1.5' });
  const texts = (part: 'query' | 'params') => limit.error?.issues.map((issue) => issueText(part, issue));
  t.same(texts('query'), ['the query parameter limit must be a whole number']);
  t.same(texts('params'), ['the path parameter limit must be a whole number']);
  t.end();
});
