import { readFileSync } from 'node:fs';
import t from 'tap';
import { tokenLifetimeMaxMs, tokenLifetimeMs } from '../../../runtime/domain/access-token.ts';
import { eventBytesMax } from '../../../runtime/domain/events.ts';
import { sourceLimits, storeLimits } from '../../../runtime/domain/source-files.ts';

const text = readFileSync(new URL('../../../docs/reference/limits.md', import.meta.url), 'utf8');
const documented = (name: string) =>
  [...text.matchAll(/^\| (.*?) +\| (.*?) +\|$/gm)].find((row) => row[1] === name)?.[2] ?? `no row ${name}`;
const days = (ms: number) => ms / 86_400_000;
const mebibytes = (bytes: number) => bytes / 2 ** 20;
const gibibytes = (bytes: number) => bytes / 2 ** 30;

t.test('limits are those that the reference documents', async (t) => {
  t.match(documented('access tokens'), `${days(tokenLifetimeMs)} days by default, at most ${days(tokenLifetimeMaxMs)}`);
  t.equal(documented('event'), `${mebibytes(eventBytesMax)} MiB`);
  t.equal(
    documented('an uploaded folder'),
    `${sourceLimits.files.toLocaleString('en-US')} files, ${mebibytes(sourceLimits.bytes)} MiB`,
  );
  t.match(
    documented('stored uploads'),
    `${gibibytes(storeLimits.project)} GiB per project, ${gibibytes(storeLimits.total)} GiB in all`,
  );
});
