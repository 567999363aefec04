import t from 'tap';
import { headersFault, logDrainContext, logDrainUrl } from '../../../runtime/domain/log-drain.ts';

t.test('an address without a path gets that of its format', async (t) => {
  const of = (url: string) => (['loki', 'otlp', 'json'] as const).map((format) => logDrainUrl(new URL(url), format));
  t.same(of('https://logs.test#x'), [
    'https://logs.test/loki/api/v1/push',
    'https://logs.test/v1/logs',
    'https://logs.test/',
  ]);
  t.same(of('https://logs.test/?a=b'), [
    'https://logs.test/loki/api/v1/push?a=b',
    'https://logs.test/v1/logs?a=b',
    'https://logs.test/?a=b',
  ]);
  t.same(new Set(of('https://logs.test/own/path')), new Set(['https://logs.test/own/path']));
  const url = new URL('https://logs.test#x');
  logDrainUrl(url, 'loki');
  t.equal(url.href, 'https://logs.test/#x', 'the argument does not change');
});

t.test('headers that can be sent', async (t) => {
  const headers = { authorization: 'Bearer a b', 'X-Scope_OrgID': '!~', [`a${'9'.repeat(99)}`]: 'x' };
  for (const accepted of [{}, headers]) t.equal(headersFault(accepted), undefined);
  const many = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, index) => [`x-${index}`, 'v']));
  t.equal(headersFault(many(20)), undefined);
  t.equal(headersFault(many(21)), 'At most 20 headers can be set.');
});

t.test('a refusal says why, without the value', async (t) => {
  t.equal(headersFault({ a: 'x', A: 'y' }), 'A header is set twice.');
  for (const name of ['', 'a b', 'a:b', 'é', 'a'.repeat(101), 'a\n']) {
    t.match(headersFault({ ok: 'x', [name]: 'x' }), /^The name of a header/, JSON.stringify(name).slice(0, 20));
  }
  for (const name of [
    'Host',
    'content-length',
    'Content-Type',
    'Transfer-Encoding',
    'user-agent',
    'proxy-authorization',
  ]) {
    t.equal(headersFault({ [name]: 'x' }), `The header ${name} cannot be set; the platform sets it.`);
  }
  for (const value of ['', ' secret', 'secret\r\nx: y', 'sécret', '\u007f']) {
    const fault = headersFault({ 'x-key': value }) ?? '';
    t.match(fault, /^The value of the header x-key takes printable ASCII/, JSON.stringify(value));
    t.notMatch(fault, /secret/);
  }
});

t.test('headers are sealed for their drain alone', async (t) => {
  t.same(logDrainContext('1'), { id: '1', purpose: 'log-drain-headers' });
});
