import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import t from 'tap';
import { generateApiKey } from '../../runtime/domain/api-key.ts';
import * as journal from '../../runtime/logs/journal.ts';
import * as segment from '../../runtime/logs/segment.ts';
import { record, startStore } from '../runtime/logs/rig.ts';
import { logStoreProgram, logStoreText } from '../support/log-store-text.ts';
import { ownFolder } from '../support/own-folder.ts';
import { secretsIn } from '../support/secret-hunt.ts';

/* The search for secrets after all other tests reads what the log store has compressed, also of pods that are gone. */

const root = join(import.meta.dirname, '../..');

t.test('the hunt finds a secret in segments and in the journal of the log store', async (t) => {
  const folder = ownFolder(t);
  const [old, recent] = [randomBytes(20).toString('hex'), randomBytes(20).toString('hex')];
  const lines = (secret: string) => Array.from({ length: 200 }, (_, ms) => record(`token ${ms} ${secret}`, ms));
  const first = await startStore(t, { folder });
  await first.append({ records: lines(old) });
  // It writes what is in the journal to segments.
  await first.stop();
  const second = await startStore(t, { folder });
  await second.append({ records: lines(recent) });
  const read = await logStoreText(folder, { ...journal, ...segment });
  const ofProgram = execFileSync(process.execPath, logStoreProgram(folder), { cwd: root, encoding: 'utf8' });
  for (const text of [read, ofProgram]) {
    t.ok(text.includes(`token 199 ${old}`), 'a segment');
    t.ok(text.includes(`token 199 ${recent}`), 'the journal');
  }
  t.equal(await logStoreText(join(folder, 'none'), { ...journal, ...segment }), '');
});

t.test('the hunt says where a secret is without showing it', (t) => {
  const { key } = generateApiKey();
  const password = randomBytes(20).toString('hex');
  const places = new Map([
    ['a log', `{"msg":"denied","key":"${key}"}`],
    ['Redis', `AUTH ${password}`],
    ['PostgreSQL', 'nothing'],
  ]);
  t.same(secretsIn(places, new Map([['svc-redis/password', password]])), [
    String.raw`an API key in a log, after "{\"msg\":\"denied\",\"key\":\""`,
    'svc-redis/password in Redis',
  ]);
  t.end();
});
