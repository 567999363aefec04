import t from 'tap';
import { basicCredentials } from '../../../runtime/domain/registry-credentials.ts';

const file = (entries: Record<string, unknown>) => JSON.stringify({ auths: entries });
const user = { username: 'cleaner', password: 'pass:word' };
const encoded = Buffer.from('cleaner:pass:word').toString('base64');

t.test('an entry names a registry by its host or by an address of it', async (t) => {
  for (const name of ['r.test', 'https://r.test', 'http://r.test', 'https://r.test/v1/', 'https://r.test/v2/']) {
    t.equal(basicCredentials(file({ other: {}, [name]: user }), 'r.test'), encoded, name);
  }
  for (const name of ['r.test.evil', 'evil.r.test', 'R.TEST', 'https://r.test/', 'r.test:443', '*']) {
    t.equal(basicCredentials(file({ [name]: user }), 'r.test'), undefined, name);
  }
  t.equal(basicCredentials(file({ 'https://r.test': user, 'r.test': { auth: 'YTpi' } }), 'r.test'), 'YTpi');
});

t.test('encoded credentials come before a user and password', async (t) => {
  for (const auth of ['YTpi', 'YTo=', 'YQ==', 'a+/9']) {
    t.equal(basicCredentials(file({ r: { ...user, auth } }), 'r'), auth);
  }
  for (const auth of ['', 'a b', 'a\r\nx: y', '=', 'YQ===', 1, null, ['YTpi']]) {
    t.equal(basicCredentials(file({ r: { ...user, auth } }), 'r'), undefined, JSON.stringify(auth));
  }
});

t.test('an incomplete entry or an invalid file has no credentials', async (t) => {
  const { username, password } = user;
  for (const entry of [
    {},
    { username },
    { password },
    { username: 1, password },
    { username, password: 1 },
    null,
    'x',
    1,
  ]) {
    t.equal(basicCredentials(file({ r: entry }), 'r'), undefined, JSON.stringify(entry));
  }
  for (const text of [
    '',
    '{',
    '[]',
    'null',
    '1',
    '{}',
    '{"auths":null}',
    '{"auths":1}',
    '{"auths":[]}',
    '{"auths":"r"}',
  ]) {
    t.equal(basicCredentials(text, 'r'), undefined, text);
  }
});
