import t from 'tap';
import {
  faultyLine,
  invocationOf,
  newInvocation,
  sentPath,
  shownBody,
  shownMax,
} from '../../../functions/console/ui/functions/invocation.ts';
import { functionInvocation, type InvocationAnswer } from '../../../runtime/contracts/api/invocations.ts';

const draft = (fields: Partial<typeof newInvocation>) => ({ ...newInvocation, ...fields });

t.test('a form becomes a request that the API accepts', (t) => {
  t.same(invocationOf(newInvocation), { method: 'GET', path: '/' });
  const headers = 'x-trace: 1\n\n  X-Url : http://a:1/  \n';
  t.same(invocationOf(draft({ method: 'PUT', path: 'a b?c=ä#d', headers, body: '{"a":1}' })), {
    method: 'PUT',
    path: '/a%20b?c=%C3%A4%23d',
    headers: [
      { name: 'x-trace', value: '1' },
      { name: 'X-Url', value: 'http://a:1/' },
      { name: 'content-type', value: 'application/json' },
    ],
    body: '{"a":1}',
  });
  t.match(invocationOf(draft({ body: 'text' })).headers, [{ value: 'text/plain; charset=utf-8' }]);
  const own = { headers: 'Content-Type: text/csv', body: '1' };
  t.same(invocationOf(draft(own)).headers, [{ name: 'Content-Type', value: 'text/csv' }]);
  for (const path of ['', '/', '\u{d800}', '/\n/%zz/%2F', '//other/']) {
    t.ok(functionInvocation.safeParse(invocationOf(draft({ path }))).success, sentPath(draft({ path })));
  }
  t.equal(sentPath(draft({ path: '/%2F' })), '/%2F', 'what is encoded stays');
  t.end();
});

t.test('a line that is no header is named', (t) => {
  t.equal(faultyLine(draft({ headers: 'a: b\n\nc:\n' })), undefined);
  t.equal(faultyLine(draft({ headers: 'a: b\n no header ' })), 'no header');
  t.equal(faultyLine(draft({ headers: ': b' })), ': b');
  t.end();
});

t.test('JSON is shown with line breaks, and keeps every digit and letter', (t) => {
  const answer = (body: string, more: Partial<InvocationAnswer> = {}): InvocationAnswer => ({
    status: 200,
    headers: [],
    body,
    bodyEncoding: 'text',
    bodyEnd: 'complete',
    coldStart: false,
    durationMs: 1,
    ...more,
  });
  const value = { a: [1, { b: null, 'c"}': '\\"{[,:' }, []], d: {}, e: 'ä\n', f: true };
  for (const text of [JSON.stringify(value), JSON.stringify(value, null, 7)]) {
    t.equal(shownBody(answer(text)), JSON.stringify(value, null, 2));
  }
  t.equal(shownBody(answer('{"id":12345678901234567890,"x":1.0}')), '{\n  "id": 12345678901234567890,\n  "x": 1.0\n}');
  for (const text of ['', 'hello', '[1,2', '"a"', '{a:1}', '<b>']) t.equal(shownBody(answer(text)), text);
  t.equal(shownBody(answer('[1,2]', { bodyEnd: 'broken' })), '[1,2]');
  t.equal(shownBody(answer('WzEsMl0=', { bodyEncoding: 'base64' })), 'WzEsMl0=');
  const deep = `${'['.repeat(5_000)}${']'.repeat(5_000)}`;
  t.equal(shownBody(answer(deep)), deep, 'deep nesting would be mostly spaces');
  t.equal(shownBody(answer('x'.repeat(shownMax + 1))).length, shownMax);
  t.end();
});
