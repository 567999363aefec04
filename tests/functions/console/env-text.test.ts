import { parseEnv } from 'node:util';
import t from 'tap';
import { changesOf, linesOf, readLines } from '../../../functions/console/ui/workloads/env-text.ts';

t.test('variables are written as lines that read back as they were', (t) => {
  const variables = {
    PLAIN: 'info',
    EMPTY: '',
    SPACES: ' two words ',
    HASH: 'a#b # c',
    MULTI: 'one\ntwo\n',
    SINGLE: `it's`,
    DOUBLE: `say "hi"`,
    BOTH: `it's "quoted"`,
    DOLLAR: '${OTHER} $$',
    BACKSLASH: String.raw`C:\new`,
  };
  const { text, omitted } = linesOf(variables);
  t.same(omitted, []);
  t.same(readLines(text), { variables, faults: [] });
  t.same({ ...parseEnv(text) }, variables, 'by Node, too, as svc app env push reads them');
  t.same(linesOf({ HARD: `'"\`` }), { text: '', omitted: ['HARD'] });
  t.end();
});

t.test('a pasted .env file is read as Node reads it', (t) => {
  for (const text of [
    'A=1\nB=2',
    '# comment\n\nA=1 # why\r\nB = two words \r\n',
    'export A=1\nA=2',
    `A="x\\ny"\nB='x\\ny'\nC=\`x\``,
    'KEY="-----BEGIN-----\n  abc\n-----END-----"\nNEXT=1',
    "A='x' # why\nB=",
    'A=b=c\nURL=http://x/?a=b&c',
  ]) {
    t.same(readLines(text), { variables: { ...parseEnv(text) }, faults: [] }, JSON.stringify(text));
  }
  t.same(
    readLines('A=1\nnot a variable\n2B=x\n=x\nC="open').faults,
    [2, 3, 4, 5],
    'lines that would be lost are named',
  );
  t.end();
});

t.test('the difference names what is added, changed and deleted', (t) => {
  t.same(changesOf({ A: '1', B: '2', C: '3' }, { A: '1', B: '5', D: '' }), [
    { name: 'B', before: '2', after: '5' },
    { name: 'C', before: '3', after: undefined },
    { name: 'D', before: undefined, after: '' },
  ]);
  t.end();
});
