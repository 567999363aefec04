import { once } from 'node:events';
import { createServer } from 'node:http';
import { connect } from 'node:net';
import t, { type Test } from 'tap';
import { readHead } from '../../../gate/authz/request-head.ts';
import { seededRandom } from '../../support/random.ts';

const names = ['x-api-key', 'x-forwarded-for', 'x-forwarded-method', 'access-control-request-method'] as const;
type Values = Partial<Record<(typeof names)[number], string>>;

/** A request as its reader gives it. */
interface Read {
  url: string;
  headers: Values;
}

function valuesOf(headers: NodeJS.Dict<string | string[]>): Values {
  return Object.fromEntries(names.flatMap((name) => (headers[name] === undefined ? [] : [[name, headers[name]]])));
}

/** What the checker reads; undefined for what it leaves to node:http. */
function readQuickly(text: string): Read | undefined {
  const bytes = Buffer.from(text, 'latin1');
  const end = bytes.indexOf('\r\n\r\n');
  const head = end < 0 ? undefined : readHead(bytes, 0, end);
  return head && { url: head.url, headers: valuesOf(head.headers) };
}

/** A server of node:http, which says how it reads the first of two requests that arrive at once. */
async function nodeReader(t: Test) {
  const reads: (Read & { method: string; close: boolean; body: string })[] = [];
  const server = createServer({ keepAliveTimeout: 0, maxHeaderSize: 1024 * 1024 }, (request, response) => {
    let body = '';
    request.setEncoding('latin1').on('data', (part: string) => (body += part));
    request.on('end', () => {
      const { url = '', method = '', headers } = request;
      reads.push({ url, method, headers: valuesOf(headers), close: !response.shouldKeepAlive, body });
      response.writeHead(200, ['Content-Length', '0']).end();
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => server.close());
  const address = server.address();
  const port = typeof address === 'object' && address ? address.port : 0;
  const last = 'GET /last HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n';
  return async (text: string) => {
    reads.length = 0;
    const socket = connect(port, '127.0.0.1');
    socket.on('error', () => undefined);
    socket.end(Buffer.from(text + last, 'latin1'));
    let answers = '';
    for await (const part of socket) answers += String(part);
    const [first, second, ...more] = reads.splice(0);
    const isAlone = second?.url === '/last' && more.length === 0 && answers.split('HTTP/1.1 ').length === 3;
    return { first, isAlone };
  };
}

const line = 'GET /authorize?app=0198c0de-0000-7000-8000-000000000001 HTTP/1.1\r\n';
const usual = [
  'Host: svc-authz.svc-system.svc',
  'User-Agent: Go-http-client/1.1',
  'X-Api-Key: svc_abcdefgh_0123',
  'X-Forwarded-For: 203.0.113.7',
  'X-Forwarded-Method: GET',
  'Accept-Encoding: gzip',
];
const join = (lines: readonly string[], start = line) => `${start}${lines.map((each) => `${each}\r\n`).join('')}\r\n`;

t.test('the usual request is read', (t) => {
  t.same(readQuickly(join(usual)), {
    url: '/authorize?app=0198c0de-0000-7000-8000-000000000001',
    headers: { 'x-api-key': 'svc_abcdefgh_0123', 'x-forwarded-for': '203.0.113.7', 'x-forwarded-method': 'GET' },
  });
  for (const more of [
    ['Connection: keep-alive'],
    ['connection:Keep-Alive \t'],
    ['X-Empty:'],
    ['Access-Control-Request-Method: PUT'],
    ['Expected: 1', 'Upgrades: 1', 'Content-Lengths: 5', 'X-Transfer-Encoding: chunked', 'Connections: close'],
  ]) {
    t.ok(readQuickly(join([...usual, ...more])), more.join());
  }
  t.end();
});

t.test('what node:http must decide is left to it', (t) => {
  const heads: Record<string, string> = {
    'another path': join(usual, 'GET /authorized?app=1 HTTP/1.1\r\n'),
    'another query': join(usual, 'GET /authorize?apps=1 HTTP/1.1\r\n'),
    'a second parameter': join(usual, 'GET /authorize?app=1&app=2 HTTP/1.1\r\n'),
    'an escape': join(usual, 'GET /authorize?app=%31 HTTP/1.1\r\n'),
    'another method': join(usual, 'POST /authorize?app=1 HTTP/1.1\r\n'),
    'small letters': join(usual, 'get /authorize?app=1 HTTP/1.1\r\n'),
    'an absolute address': join(usual, 'GET http://x/authorize?app=1 HTTP/1.1\r\n'),
    'HTTP/1.0': join(usual, 'GET /authorize?app=1 HTTP/1.0\r\n'),
    'no version': join(usual, 'GET /authorize?app=1\r\n'),
    'two spaces': join(usual, 'GET /authorize?app=1  HTTP/1.1\r\n'),
    'a line feed alone': join(usual, 'GET /authorize?app=1 HTTP/1.1\n'),
    'an empty line first': `\r\n${join(usual)}`,
    'no Host': join(usual.slice(1)),
    'two Hosts': join([...usual, 'host: y']),
    'a folded line': join([...usual, ' more']),
    'a blank before the colon': join([...usual, 'X-A : 1']),
    'no name': join([...usual, ': 1']),
    'no colon': join([...usual, 'X-A']),
    'a line feed in a value': join([...usual, 'X-A: 1\nX-B: 2']),
    'a carriage return in a value': join([...usual, 'X-A: 1\rX-B: 2']),
    'a zero byte in a value': join([...usual, 'X-A: 1\0']),
    'a zero byte in a name': join([...usual, 'X\0A: 1']),
    'a byte of another script in a name': join([...usual, 'X-Ä: 1']),
    ...Object.fromEntries(
      [
        ...['Content-Length: 0', 'Transfer-Encoding: chunked', 'Expect: 100-continue', 'Upgrade: websocket'],
        ...['Connection: close', 'Connection: keep-alive, x', 'Connection:', 'Proxy-Connection: close'],
      ].flatMap((field) =>
        [field, field.toUpperCase(), field.toLowerCase()].map((each) => [each, join([...usual, each])]),
      ),
    ),
  };
  for (const [name, text] of Object.entries(heads)) t.equal(readQuickly(text), undefined, name);
  t.end();
});

t.test('every byte of the request line counts, and every byte of a name', (t) => {
  const changed = (text: string, place: number) =>
    `${text.slice(0, place)}${text[place] === 'q' ? 'r' : 'q'}${text.slice(place + 1)}`;
  const appStart = line.indexOf('=') + 1;
  const appEnd = line.indexOf(' HTTP');
  for (let place = 0; place < line.length; place++) {
    const inApp = place >= appStart && place < appEnd;
    const read = readQuickly(join(usual, changed(line, place)));
    if (inApp) t.match(read, { url: changed(line, place).slice(4, -11) });
    else t.equal(read, undefined, `byte ${place}`);
  }
  for (const name of ['x-api-key', 'x-forwarded-for', 'x-forwarded-method', 'access-control-request-method']) {
    for (let place = 0; place < name.length; place++) {
      t.same(readQuickly(join(['Host: y', `${changed(name, place)}: 1`]))?.headers, {}, changed(name, place));
    }
  }
  for (const name of ['expect', 'upgrade', 'content-length', 'proxy-connection', 'transfer-encoding', 'connection']) {
    for (let place = 0; place < name.length; place++) {
      t.ok(readQuickly(join(['Host: y', `${changed(name, place)}: 1`])), changed(name, place));
    }
  }
  for (let place = 0; place < 4; place++) t.equal(readQuickly(join([`${changed('host', place)}: y`])), undefined);
  t.end();
});

/** Pieces that requests are changed with. */
const pieces = [
  ...['\r\n', '\n', '\r', '\r\n\r\n', ' ', '\t', ':', ',', '\0', '\x7f', '\xe4', '\xa0', '\x0b', '%00', '_', '-'],
  ...['Host: y\r\n', 'X-Api-Key: two\r\n', 'x-api-KEY:\ttwo \r\n', 'X_Api_Key: three\r\n', 'X-Api-Key:\r\n'],
  ...['X-Forwarded-For: 10.0.0.1 , 10.0.0.2\r\n', 'X-Forwarded-Method: OPTIONS\r\n', 'x-forwarded-method : PUT\r\n'],
  ...[
    'Access-Control-Request-Method: \xe4\r\n',
    'Content-Length: 5\r\n',
    'content-length:0\r\n',
    'Content-Length: +0\r\n',
  ],
  ...[
    'Transfer-Encoding: chunked\r\n',
    'Transfer-Encoding:\r\n',
    'Connection: close\r\n',
    'Connection: Keep-Alive\r\n',
  ],
  ...['Connection: keep-alive, close\r\n', 'Upgrade: h2c\r\n', 'Expect: 100-continue\r\n', 'Expect: x\r\n'],
  ...[
    'Proxy-Connection: close\r\n',
    'Trailer: x\r\n',
    'TE: trailers\r\n',
    'Keep-Alive: timeout=1\r\n',
    'Cookie: a=b\r\n',
  ],
  ...[
    ' folded\r\n',
    '\tfolded\r\n',
    'X-A\r\n',
    ': x\r\n',
    'GET / HTTP/1.1\r\n',
    'HTTP/1.1',
    'HTTP/1.0',
    '&app=2',
    '?',
    '#',
  ],
];

t.test('what is read quickly, node:http reads as the same single request', async (t) => {
  const node = await nodeReader(t);
  const random = seededRandom(37);
  const below = (count: number) => random.between(0, count - 1);
  let accepted = 0;
  for (let round = 0; round < 4_000; round++) {
    const lines = usual.filter(() => below(8) > 0);
    for (let count = below(3); count > 0; count--)
      lines.splice(below(lines.length + 1), 0, random.pick(pieces).replace(/\r\n$/, ''));
    let text = join(lines);
    for (let count = below(2); count > 0; count--) {
      const at = below(text.length);
      text = text.slice(0, at) + (random.chance(0.5) ? random.pick(pieces) : '') + text.slice(at + below(3));
    }
    // Only what ends with its first empty line: the rest is another request.
    const end = text.indexOf('\r\n\r\n');
    if (end < 0) continue;
    text = text.slice(0, end + 4);
    const quick = readQuickly(text);
    if (!quick) continue;
    accepted++;
    const { first, isAlone } = await node(text);
    const expected = { ...quick, method: 'GET', close: false, body: '' };
    if (!isAlone || !t.same(first, expected)) t.fail(JSON.stringify(text));
  }
  t.comment(`${accepted} of 4,000 requests were read quickly`);
  t.ok(accepted > 500);
});
