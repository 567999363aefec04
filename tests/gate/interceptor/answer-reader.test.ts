import t from 'tap';
import { createAnswerReader } from '../../../gate/interceptor/answer-reader.ts';

/** Reads in pieces of `size` bytes. @returns the events, one line each */
function read(bytes: string, { method = 'GET', size = Infinity, close = false } = {}) {
  const reader = createAnswerReader();
  const events: string[] = [];
  let body = '';
  reader.expect(method, {
    head({ status, statusMessage, rawHeaders, length }) {
      events.push(`${status} ${statusMessage} ${length} ${rawHeaders.join('|')}`);
    },
    body(part) {
      body += part.toString('latin1');
    },
    end(reusable) {
      events.push(body, reusable ? 'reusable' : 'over');
    },
  });
  const all = Buffer.from(bytes, 'latin1');
  let used = 0;
  for (let at = 0; at < all.length; at += size) used += reader.read(all.subarray(at, at + size));
  const whole = close ? reader.close() : undefined;
  return { events, used, ...(whole !== undefined && { whole }) };
}

const ok = 'HTTP/1.1 200 OK\r\n';

t.test('reads every framing, in pieces of any size', (t) => {
  const cases: [answer: string, events: string[], method?: string][] = [
    [`${ok}Content-Length: 4\r\nX:  a b \t\r\n\r\nbody`, ['200 OK 4 Content-Length|4|X|a b', 'body', 'reusable']],
    [`${ok}content-length: 0\r\n\r\n`, ['200 OK 0 content-length|0', '', 'reusable']],
    [`${ok}Content-Length: 4\r\n\r\n`, ['200 OK 4 Content-Length|4', '', 'reusable'], 'HEAD'],
    ['HTTP/1.1 204 No Content\r\n\r\n', ['204 No Content undefined ', '', 'reusable']],
    ['HTTP/1.1 304\r\nContent-Length: 9\r\n\r\n', ['304  9 Content-Length|9', '', 'reusable']],
    [
      `${ok}Transfer-Encoding: Chunked\r\n\r\n4;a=b\r\nbody\r\nA\r\n0123456789\r\n0\r\nX-Sum: 1\r\n\r\n`,
      ['200 OK undefined Transfer-Encoding|Chunked', 'body0123456789', 'reusable'],
    ],
    [
      `HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Hints\r\nLink: x\r\n\r\n${ok}Content-Length: 1\r\n\r\n!`,
      ['200 OK 1 Content-Length|1', '!', 'reusable'],
    ],
    [
      `${ok}Connection: x\r\nConnection: Close\r\nContent-Length: 0\r\n\r\n`,
      ['200 OK 0 Connection|x|Connection|Close|Content-Length|0', '', 'over'],
    ],
    [`HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\n!`, ['200 OK 1 Content-Length|1', '!', 'over']],
  ];
  for (const [answer, events, method = 'GET'] of cases) {
    for (const size of [Infinity, 1, 2, 3, 7]) {
      t.same(read(answer, { method, size }), { events, used: answer.length }, `${answer} in pieces of ${size}`);
    }
    t.equal(read(`${answer}more`, { method }).used, answer.length, 'leaves the bytes after the answer');
  }
  t.end();
});

t.test('the end of the connection completes an answer without a length, and no other', (t) => {
  t.same(read(`${ok}\r\nto the end`, { close: true }), {
    events: ['200 OK undefined ', 'to the end', 'over'],
    used: 29,
    whole: true,
  });
  for (const cut of [
    'HTTP/1.1 20',
    `${ok}Content-Length: 2\r\n\r\n1`,
    `${ok}Transfer-Encoding: chunked\r\n\r\n1\r\n1\r\n`,
  ]) {
    t.equal(read(cut, { close: true }).whole, false, cut);
  }
  t.end();
});

t.test('refuses bytes that are not an answer, or whose end is ambiguous', (t) => {
  const bad = [
    'nonsense\r\n\r\n',
    'HTTP/2 200 OK\r\n\r\n',
    'HTTP/1.1 099 Low\r\n\r\n',
    'HTTP/1.1 101 Switch\r\n\r\n',
    `${ok}no colon\r\n\r\n`,
    `${ok}X : a\r\n\r\n`,
    `${ok}X: a\r\n b\r\n\r\n`,
    `${ok}X: a\rb\r\n\r\n`,
    `${ok}X: \0\r\n\r\n`,
    'HTTP/1.1 100 Continue\r\nConnection: close\r\n\r\n',
    ...['X', 'X : a', 'Content-Length: 5', 'Connection: close'].map(
      (trailer) => `${ok}Transfer-Encoding: chunked\r\n\r\n0\r\n${trailer}\r\n\r\n`,
    ),
    `${ok}Content-Length: 1\r\nContent-Length: 1\r\n\r\n`,
    `${ok}Content-Length: +1\r\n\r\n`,
    `${ok}Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n`,
    `${ok}Transfer-Encoding: gzip, chunked\r\n\r\n`,
    `${ok}Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n`,
    `${ok}Transfer-Encoding: identity\r\n\r\n`,
    `${ok}Transfer-Encoding: chunked\t\r\n\r\n`,
    `${ok}Content-Length: 9999999999999999\r\n\r\n`,
    ...[
      'x\r\n',
      '\r\n',
      '-1\r\n',
      '1 1\r\n',
      '1 \r\n',
      '1\r\n12\r\n',
      `1;${'x'.repeat(2_000)}`,
      'fffffffffffff\r\n',
    ].map((chunks) => `${ok}Transfer-Encoding: chunked\r\n\r\n${chunks}`),
  ];
  const large = `${ok}X: ${'x'.repeat(70_000)}`;
  for (const size of [Infinity, 1]) t.throws(() => read(large, { size }), { name: 'OversizedHead' });
  for (const answer of bad) {
    for (const size of [Infinity, 1])
      t.throws(() => read(answer, { size }), { name: 'MalformedAnswer' }, answer.slice(0, 80));
  }
  t.end();
});
