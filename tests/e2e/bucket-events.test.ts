import t from 'tap';
import { codeFile } from '../support/code-file.ts';
import { eventually, runningPlatform, testProject, uniqueName } from '../support/platform.ts';

const platform = await runningPlatform();

/**
 * An HTTP request makes it change the bucket as its own user, and returns the events it received, which it keeps in
 * memory.
 */
const code = `
import { createHash, createHmac } from 'node:crypto';
const { S3_ENDPOINT, S3_ACCESS_KEY, S3_SECRET_KEY, S3_REGION } = process.env;
const sha = (text) => createHash('sha256').update(text).digest('hex');
const hmac = (key, text) => createHmac('sha256', key).update(text).digest();
async function ask(method, key, body = '') {
  const { host } = new URL(S3_ENDPOINT);
  const time = new Date().toISOString().replace(/[-:]|\\.\\d+/g, '');
  const scope = [time.slice(0, 8), S3_REGION, 's3', 'aws4_request'];
  const names = 'host;x-amz-content-sha256;x-amz-date';
  const heads = ['host:' + host, 'x-amz-content-sha256:' + sha(body), 'x-amz-date:' + time, '', names, sha(body)];
  const text = ['AWS4-HMAC-SHA256', time, scope.join('/'), sha([method, '/uploads/' + key, '', ...heads].join('\\n'))];
  const signature = hmac(scope.reduce(hmac, 'AWS4' + S3_SECRET_KEY), text.join('\\n')).toString('hex');
  const authorization = 'AWS4-HMAC-SHA256 Credential=' + [S3_ACCESS_KEY, ...scope].join('/') +
    ', SignedHeaders=' + names + ', Signature=' + signature;
  const headers = { authorization, 'x-amz-date': time, 'x-amz-content-sha256': sha(body) };
  const answer = await fetch(S3_ENDPOINT + '/uploads/' + key, { method, headers, ...(body && { body }) });
  if (!answer.ok) throw new Error(answer.status + ' ' + await answer.text());
}
const received = [];
export async function handler(event, { path }) {
  if (path === '/event') {
    received.push(event.event + ' ' + event.key);
    return { statusCode: event.key === 'refused' ? 400 : 200 };
  }
  if (path === '/change') {
    await ask('PUT', 'gone-at-once', 'x');
    await ask('DELETE', 'gone-at-once');
    await ask('PUT', 'refused', 'x');
    await ask('PUT', 'kept', 'x');
  }
  return { body: { received } };
}`;

t.test('a function receives an event for every object that is created or deleted in its bucket', async (t) => {
  const { flags } = await testProject(t, platform);
  const name = uniqueName('thumbs');
  await platform.ok(['service', 'create', 'files', '--type', 'minio', '--size', '128Mi', ...flags]);
  const file = codeFile(t, 'thumbs.mjs', code);
  await platform.ok([
    'function',
    'create',
    name,
    '--code-file',
    file,
    '--min-replicas',
    '1',
    '--max-replicas',
    '1',
    '--trigger',
    'http',
    '--trigger',
    'minio',
    '--source',
    'files',
    '--bucket',
    'uploads',
    ...flags,
  ]);
  const { url } = await platform.json<{ url: string }>(['function', 'show', name, ...flags]);
  const received = async (path: string) => {
    const answer = await platform.request(`${url}${path}`);
    return answer.status === 200 ? ((answer.json()['received'] ?? []) as string[]) : undefined;
  };
  await eventually(
    () => received('/'),
    (now) => now !== undefined,
  );
  t.ok(await received('/change'));
  const expected = ['created gone-at-once', 'created kept', 'created refused', 'removed gone-at-once'];
  const all = await eventually(
    () => received('/'),
    (now = []) => expected.every((each) => now.includes(each)),
  );
  t.same(all?.toSorted(), expected, 'each once');
  t.ok((all ?? []).indexOf('created gone-at-once') < (all ?? []).indexOf('removed gone-at-once'), 'in order');

  type Letter = { id: string; payload: string };
  const letters = () => platform.json<Letter[]>(['function', 'dead-letters', 'list', name, ...flags]);
  const [dead] = await eventually(letters, (list) => list.length === 1);
  t.match(dead?.payload, /"event":"created","bucket":"uploads","key":"refused"/);
  await platform.ok(['function', 'dead-letters', 'redrive', name, '--id', dead?.id ?? '', ...flags]);
  await eventually(
    () => received('/'),
    (now = []) => now.filter((each) => each === 'created refused').length === 2,
  );
  const [again] = await eventually(letters, (list) => list.length === 1);
  await platform.ok(['function', 'dead-letters', 'purge', name, '--id', again?.id ?? '', '--yes', ...flags]);
  t.same(await letters(), []);
});
