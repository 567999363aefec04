import t from 'tap';
import { maskBody, maskedStart } from '../../../functions/webhooks/mask.ts';
import { generateAccessToken } from '../../../runtime/domain/access-token.ts';
import { generateApiKey, generateSessionToken, generateWebhookToken } from '../../../runtime/domain/api-key.ts';

t.test('fields by their names, texts by their form', (t) => {
  const mask = (value: unknown, secrets: string[] = []) => maskBody(Buffer.from(''), value, secrets);
  for (const field of [
    'password',
    'client_secret',
    'access_token',
    'privateKey',
    'apiKey',
    'Authorization',
    'accessToken',
  ]) {
    t.equal(mask({ [field]: 'abc' }), `{"${field}":"[masked]"}`, field);
  }
  for (const field of ['tokenizer', 'commit', 'key', 'message', 'keys_url'])
    t.notMatch(mask({ [field]: 'abc' }), 'masked');
  for (const text of [
    `ghp_${'a'.repeat(36)}`,
    `glpat-${'a'.repeat(20)}`,
    'https://ann:hunter2@git.test/x',
    `AKIA${'A'.repeat(16)}`,
    `-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY-----`,
  ]) {
    const masked = mask({ message: `see ${text} there` });
    t.match(masked, /see .*\[masked\].* there/, text.slice(0, 20));
    t.notMatch(masked, /hunter2|aaaa|AAAA|abc/);
  }
  t.equal(mask('x the-token y', ['the-token']), '"x [masked] y"');
  const long = maskBody(Buffer.from(''), `start ${'x'.repeat(100_000)}`, []);
  t.equal(long.length, 65_536);
  t.match(long, /^"start x/);
  t.end();
});

t.test('every token of the platform is masked', (t) => {
  const tokens = [generateApiKey().key, generateAccessToken().token, generateSessionToken(), generateWebhookToken()];
  for (const token of tokens) {
    t.equal(
      maskBody(Buffer.from(''), { message: `see ${token} there` }, []),
      '{"message":"see [masked] there"}',
      token,
    );
  }
  t.end();
});

t.test('a secret field is masked with all its content', (t) => {
  const mask = (value: unknown) => maskBody(Buffer.from(''), value, []);
  for (const value of [{ DB: 'hunter2' }, { pass: ['x'] }, ['hunter2'], 1234, true]) {
    t.equal(mask({ at: [{ secrets: value }] }), '{"at":[{"secrets":"[masked]"}]}', JSON.stringify(value));
  }
  t.equal(
    mask({ credentials: { pass: 'hunter2' }, token: null, secret: '' }),
    '{"credentials":"[masked]","token":null,"secret":""}',
  );
  t.end();
});

t.test('unparsed text is masked by its form, or not stored', (t) => {
  const mask = (body: string) => maskBody(Buffer.from(body), undefined, ['the-token']);
  t.equal(mask('{"image":"r/api:1","password":"hunter2"}'), '{"image":"r/api:1","password":"[masked]"}');
  t.equal(mask('image=r%2Fapi:1&password=hunter2&by=the-token'), 'image=r/api:1&password=[masked]&by=[masked]');
  t.equal(mask('a=%7B%22secret%22:%5B1%5D%7D&b=x%00'), 'a={"secret":"[masked]"}&b=x\uFFFD');
  for (const body of [
    '{"password":"hunter2"',
    '{"a":"b=c","password":"hunter2"',
    'password: hunter2',
    'hunter2',
    'image=r/api:1\npassword=hunter2',
    'image=r/api:1password=hunter2',
    'a=%7B%22password%22:%22hunter2',
    '['.repeat(65) + '"hunter2"' + ']'.repeat(65),
  ]) {
    t.match(mask(body), /^\[not stored: /, body);
  }
  t.end();
});

t.test('the part of a secret before a cut is not shown', (t) => {
  const secret = 'z'.repeat(1_000);
  // Of the thirteenth, only the beginning is read, which nothing recognises.
  t.notMatch(maskedStart(secret.repeat(13), 8_000, [secret]), 'z');
  t.equal(maskedStart(`${secret} and ${secret}`, 8_000, [secret]), '[masked] and [masked]');
  t.equal(maskedStart('y'.repeat(20_000), 8_000, [secret]), 'y'.repeat(8_000));
  t.end();
});
