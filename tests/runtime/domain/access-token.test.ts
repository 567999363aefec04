import t from 'tap';
import {
  accessTokenPattern,
  checkTokenName,
  generateAccessToken,
  hasDigest,
  accessTokenDigest,
  parseAccessToken,
} from '../../../runtime/domain/access-token.ts';
import { includesScope } from '../../../runtime/domain/token-scopes.ts';
import { generateApiKey, generateSessionToken, generateWebhookToken } from '../../../runtime/domain/api-key.ts';

t.test('a token has a form of its own, with a checksum', (t) => {
  const { token, handle } = generateAccessToken();
  t.match(token, accessTokenPattern);
  t.same(parseAccessToken(token), { handle });
  t.not(generateAccessToken().token, token);
  for (let index = 0; index < token.length; index++) {
    const changed = token.slice(0, index) + (token[index] === 'x' ? 'y' : 'x') + token.slice(index + 1);
    t.equal(parseAccessToken(changed), undefined, `changed at ${index}`);
    t.equal(parseAccessToken(token.slice(0, index)), undefined, `cut at ${index}`);
  }
  const others = [
    generateApiKey().key,
    generateSessionToken(),
    generateWebhookToken(),
    generateApiKey().key.replace('svc_', 'svct_'),
  ];
  for (const other of [...others, `${token}x`, ` ${token}`, `${token}\n`, token.toUpperCase(), '', 'svct_']) {
    t.equal(parseAccessToken(other), undefined, other);
  }
  t.end();
});

t.test('the checksum of another token is refused', async (t) => {
  const { token } = generateAccessToken();
  const other = generateAccessToken().token;
  t.equal(parseAccessToken(token.slice(0, -6) + other.slice(-6)), undefined);
});

t.test('a token is compared by its digest', (t) => {
  const { token } = generateAccessToken();
  t.ok(hasDigest(token, accessTokenDigest(token)));
  t.notOk(hasDigest(token, accessTokenDigest(generateAccessToken().token)));
  t.notOk(hasDigest(token, Buffer.alloc(0)), 'a digest of another length');
  t.end();
});

t.test('scopes contain what using them needs, and nothing else', (t) => {
  const contained = {
    read: ['read'],
    'logs:read': ['logs:read'],
    deploy: ['read', 'deploy'],
    write: ['read', 'deploy', 'write'],
  } as const;
  for (const [scope, list] of Object.entries(contained)) {
    for (const needed of ['read', 'logs:read', 'deploy', 'write'] as const) {
      const want = (list as readonly string[]).includes(needed);
      t.equal(includesScope([scope as keyof typeof contained], needed), want, `${scope} for ${needed}`);
    }
  }
  t.notOk(includesScope([], 'read'));
  t.ok(includesScope(['logs:read', 'deploy'], 'read'));
  t.end();
});

t.test('names', (t) => {
  for (const name of ['ci', 'a', 'ci-prod-2', 'x'.repeat(30)]) t.equal(checkTokenName(name), name);
  for (const name of ['', 'CI', '1a', '-a', 'a-', 'a b', 'a\u0000', 'x'.repeat(31), 'é']) {
    t.throws(() => checkTokenName(name), { code: 'invalid_value' }, name);
  }
  t.end();
});
