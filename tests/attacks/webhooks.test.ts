import t from 'tap';
import { nameOf } from '../../functions/webhooks/event.ts';
import { maskBody } from '../../functions/webhooks/mask.ts';
import { isSuperLinear } from '../support/growth.ts';

const mask = (value: unknown, secrets: string[] = []) => maskBody(Buffer.from(''), value, secrets);
const filled = (pattern: string) => (size: number) => pattern.repeat(Math.ceil(size / pattern.length)).slice(0, size);

t.test('masking a body takes time that is linear in what is stored', (t) => {
  for (const pattern of ['eyJ-', 'eyJaaaaaaaa.', 'a.eyJaaaaaaaa', '-----BEGIN ', 'a://', 'a://b:', 'gla-', 'svc_a']) {
    t.notOk(isSuperLinear(filled(pattern), mask), pattern);
    t.notOk(
      isSuperLinear(filled(pattern), (text) => maskBody(Buffer.from(text), undefined, [])),
      `raw: ${pattern}`,
    );
    t.notOk(
      isSuperLinear(filled(pattern), (text) => mask({ [text]: text })),
      `name: ${pattern}`,
    );
  }
  t.end();
});

t.test('an author’s name is read in linear time', (t) => {
  for (const pattern of [' ', '<', '<a> ', '< ']) t.notOk(isSuperLinear(filled(pattern), nameOf), pattern);
  t.equal(nameOf('Ann <ann@example.org> '), 'Ann');
  t.equal(nameOf('Ann <A> <ann@example.org>'), 'Ann <A>');
  for (const author of ['<ann@example.org>', 'Ann', 'Ann>', '']) t.equal(nameOf(author), author);
  t.equal(nameOf(undefined), undefined);
  t.end();
});

t.test('a secret at the end of the stored part is masked whole', (t) => {
  const secrets = ['the-token-of-this-app', `eyJ${'a'.repeat(30)}.${'b'.repeat(900)}.${'c'.repeat(40)}`];
  for (const secret of secrets) {
    const shown = Array.from({ length: secret.length - 8 }, (_, index) => {
      const before = '. '.repeat(40_000).slice(0, 65_527 - index);
      return mask(`${before}${secret}${' x'.repeat(20_000)}`, secrets.slice(0, 1));
    });
    t.ok(
      shown.every((text) => !text.includes(secret.slice(0, 8))),
      secret.slice(0, 8),
    );
  }
  t.match(mask('see host-eyJhbGciOiJI.eyJzdWIiOiIx.c2ln there'), '"see [masked] there"');
  t.end();
});
