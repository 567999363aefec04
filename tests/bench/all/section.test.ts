import t from 'tap';
import { withRun } from './section.ts';

const conditions = { machine: '2 processors', commit: '1234abcd', day: '2026-01-02' };
const output = [
  'a line of another kind',
  'figure lists.projects.cpu 95.2 µs target <=110 ok',
  'figure lists.apps.cpu 180 µs',
  'figure lists.rate 0.500 ratio target >=0.9 short',
].join('\n');

t.test('a page gets the figures of a run, in place of those of the run before', (t) => {
  const page = '# Performance\n\nText.\n';
  const first = withRun(page, [{ command: 'gate', output: '', problem: 'not measured' }], conditions);
  const second = withRun(first, [{ command: 'lists --rounds 1', output }], conditions);
  t.equal(
    second,
    `# Performance

Text.

<!-- \`npm run bench -- all\` writes from here -->

## In one run

\`npm run bench -- all\`, on 2026-01-02, at commit 1234abcd, on 2 processors.

\`npm run bench -- lists --rounds 1\`:

| figure               | value       | target         |
| -------------------- | ----------- | -------------- |
| \`lists.projects.cpu\` | 95.2 µs     | <=110          |
| \`lists.apps.cpu\`     | 180 µs      |                |
| \`lists.rate\`         | 0.500 ratio | >=0.9 (missed) |

<!-- to here -->
`,
  );
  t.match(first, '`npm run bench -- gate`: not measured\n');
  t.notMatch(second, 'bench -- gate');
  t.end();
});

t.test('text after the figures stays', (t) => {
  const page = withRun('# Performance\n', [{ command: 'lists', output }], conditions);
  const extended = `${page}\n## More\n`;
  t.match(withRun(extended, [{ command: 'gate', output }], conditions), /<!-- to here -->\n\n## More\n$/);
  t.end();
});
