import { createRequire } from 'node:module';
import t from 'tap';
import { maxAnswerHead } from '../../../gate/interceptor/answer-head.ts';
import { createAnswerReader } from '../../../gate/interceptor/answer-reader.ts';
import { seededRandom, type Random } from '../../support/random.ts';
import { soakFactor, testSeed } from '../../support/soak.ts';

/*
 * Feeds the same bytes to the interceptor's reader and to the parser that node:http's client uses (llhttp), and
 * compares the results. The reader must refuse whatever llhttp refuses. Where it refuses more, `stricter` gives the
 * reason.
 */

/** Node's binding of llhttp: without types, since it is not public. */
interface NodeParser {
  initialize(type: number, resource: object, maxHeaderSize: number, lenient: number): void;
  execute(bytes: Buffer): number | Error;
  finish(): Error | undefined;
  [callback: number]: unknown;
}
const { HTTPParser } = createRequire(import.meta.url)('_http_common') as {
  HTTPParser: (new () => NodeParser) &
    Record<
      | 'RESPONSE'
      | 'kOnHeaders'
      | 'kOnHeadersComplete'
      | 'kOnBody'
      | 'kOnMessageComplete'
      | 'kOnMessageBegin'
      | 'kLenientNone',
      number
    >;
};

interface Answer {
  status: number;
  statusMessage: string;
  headers: string;
  body: string;
  whole: boolean;
  keepAlive: boolean;
}

/** What one of the two parsers read from a connection. */
interface Reading {
  answers: Answer[];
  refusal: string | undefined;
}

interface Case {
  bytes: Buffer;
  /** The methods of the requests, in order; the last one repeats. */
  methods: string[];
  /** Whether the connection ends after the bytes. */
  ends: boolean;
}

function methodOf({ methods }: Case, index: number): string {
  return methods[Math.min(index, methods.length - 1)] ?? 'GET';
}

/** The bytes in pieces. They share one buffer that is overwritten, as the interceptor's connections do. */
function* pieces(bytes: Buffer, random: Random): Generator<Buffer> {
  const longest = random.pick(bytes.length < 1_000 ? [1, 3, 40, 100_000] : [200, 1_000, 100_000]);
  const shared = Buffer.alloc(Math.min(longest, bytes.length));
  for (let at = 0; at < bytes.length;) {
    const size = random.between(1, longest);
    const piece = shared.subarray(0, Math.min(size, bytes.length - at));
    bytes.copy(piece, 0, at);
    yield piece;
    at += piece.length;
    piece.fill(0);
  }
}

function readWithOurs(one: Case, random: Random): Reading {
  const reader = createAnswerReader();
  const answers: Answer[] = [];
  let current: Answer | undefined;
  let started = 0;
  const expect = () => {
    reader.expect(methodOf(one, started++), {
      head({ status, statusMessage, rawHeaders }) {
        current = { status, statusMessage, headers: rawHeaders.join('\n'), body: '', whole: false, keepAlive: false };
        answers.push(current);
      },
      body(part) {
        if (current) current.body += part.toString('latin1');
      },
      end(reusable) {
        if (current) Object.assign(current, { whole: true, keepAlive: reusable });
      },
    });
  };
  expect();
  try {
    for (const piece of pieces(one.bytes, random)) {
      for (let rest = piece; rest.length > 0;) {
        rest = rest.subarray(reader.read(rest));
        if (rest.length === 0) break;
        // The answer has ended. A connection that is not reusable is closed here.
        if (!answers.at(-1)?.keepAlive) return { answers, refusal: undefined };
        expect();
      }
    }
    if (one.ends) reader.close();
    return { answers, refusal: undefined };
  } catch (error) {
    return { answers, refusal: (error as Error).message };
  }
}

function readWithNode(one: Case, random: Random): Reading {
  const parser = new HTTPParser();
  parser.initialize(HTTPParser.RESPONSE, {}, maxAnswerHead, HTTPParser.kLenientNone);
  const answers: Answer[] = [];
  let headers: string[] = [];
  let interim = false;
  let switched = false;
  let inHead = false;
  parser[HTTPParser.kOnMessageBegin] = () => {
    headers = [];
    inHead = true;
  };
  // Called with each 32 headers, and with trailers.
  parser[HTTPParser.kOnHeaders] = (more: string[]) => {
    if (inHead) headers.push(...more);
  };
  parser[HTTPParser.kOnHeadersComplete] = (
    _major: number,
    _minor: number,
    more: string[] | undefined,
    _method: unknown,
    _url: unknown,
    status: number,
    statusMessage: string,
    _upgrade: boolean,
    keepAlive: boolean,
  ) => {
    inHead = false;
    if (status === 101) switched = true;
    interim = status < 200;
    if (interim) return 1;
    const raw = more ? [...headers, ...more] : headers;
    const answer = { status, statusMessage, headers: raw.join('\n'), body: '', whole: false, keepAlive };
    const method = methodOf(one, answers.length);
    answers.push(answer);
    return method === 'HEAD' ? 1 : 0;
  };
  parser[HTTPParser.kOnBody] = (part: Buffer) => {
    const current = answers.at(-1);
    if (current && !interim) current.body += part.toString('latin1');
  };
  parser[HTTPParser.kOnMessageComplete] = () => {
    const current = answers.at(-1);
    if (current && !interim) current.whole = true;
  };
  for (const piece of pieces(one.bytes, random)) {
    const result = parser.execute(piece);
    if (switched) return { answers, refusal: 'switched' };
    if (typeof result !== 'number') return { answers, refusal: (result as Error & { code: string }).code };
  }
  const error = one.ends ? parser.finish() : undefined;
  return { answers, refusal: error && (error as Error & { code: string }).code };
}

/** Refusals by the reader of bytes that llhttp accepts: the message, and the content of such bytes. */
const stricter: { refusal: string; bytes: RegExp; why: string }[] = [
  {
    refusal: 'no status line',
    bytes: /HTTP\/(?:0\.9|2\.0)|HTTP\/1\.[01] 0\d\d/,
    why: 'pods speak HTTP/1.x, and node:http cannot write a status below 100',
  },
  { refusal: 'no status line', bytes: /^[\r\n]|[\r\n]HTTP|(?:\r\n){3}/, why: 'an empty line before an answer' },
  {
    refusal: 'a control character in the head',
    bytes: /^[\r\n]|[\r\n]HTTP|(?:\r\n){3}/,
    why: 'an empty line before an answer',
  },
  {
    refusal: 'a control character in the head',
    bytes: /HTTP\/1\.[01] \d{3} [^\r\n]*[^\t\r\n -~\x80-\xff]/,
    why: 'node:http refuses to write such a reason',
  },
  { refusal: 'ambiguous framing', bytes: /transfer-encoding:(?! *chunked *\r\n)/i, why: 'only chunked is understood' },
  { refusal: 'ambiguous framing', bytes: /HTTP\/1\.0/, why: 'HTTP/1.0 has no transfer codings' },
  {
    refusal: 'ambiguous framing',
    bytes: /content-length[^]*transfer-encoding|transfer-encoding[^]*content-length/i,
    why: 'two framings, where no body follows',
  },
  {
    refusal: 'two transfer codings',
    bytes: /transfer-encoding[^]*transfer-encoding/i,
    why: 'only chunked is understood',
  },
  { refusal: 'an unclear length', bytes: /content-length:[\t ]*\d{16}/i, why: 'numbers beyond 2^53 are inexact' },
  { refusal: 'an invalid chunk size', bytes: /\n[\da-f]{13,}/i, why: 'numbers beyond 2^53 are inexact' },
  {
    refusal: 'an invalid chunk size',
    bytes: /\n[\da-f]+(?:[^\r\n]*;=|;[^\r\n]*=(?:[;\r]|$))/i,
    why: 'the name or value of an extension is missing (RFC 9112 §7.1.1)',
  },
  {
    refusal: 'a framing field in a trailer',
    bytes: /connection:/i,
    why: 'llhttp takes such a Connection for one of the head, and here it would come too late',
  },
  {
    refusal: 'an interim answer that closes the connection',
    bytes: /HTTP\/1.1 1[^]*close|HTTP\/1\.0 1/i,
    why: 'llhttp refuses whatever follows instead',
  },
  {
    refusal: 'too long a head',
    bytes: new RegExp(`[^]{${maxAnswerHead - 50}}`),
    why: 'the limit counts names, values and separators',
  },
  { refusal: 'too long a line', bytes: /[^]{1000}/, why: 'the limit counts the size and its extensions' },
];

const names = ['X-A', 'Set-Cookie', 'Link', 'keep-alive', 'Upgrade', 'Trailer', 'Date'];
const values = [
  '',
  'a',
  'a b',
  ' a\t',
  'close',
  'keep-alive',
  'Keep-Alive, Close',
  'upgrade',
  'timeout=5',
  'chunked',
  'h2c',
  'caf\xe9',
  'x'.repeat(300),
];
const codings = [
  'chunked',
  'Chunked',
  'chunked ',
  'gzip, chunked',
  'chunked, gzip',
  'identity',
  '',
  'chunked,',
  'xchunked',
];
const noise = [
  '\r',
  '\n',
  '\r\n',
  '\0',
  ' ',
  '\t',
  ':',
  ';',
  ',',
  '"',
  '\x7f',
  '\x80',
  '\xa0',
  '\xff',
  '0',
  '5',
  'g',
  '-',
  '+',
  'HTTP/1.1 ',
];

function randomFields(random: Random, max: number): string {
  let text = '';
  for (let count = random.between(0, max); count > 0; count--) {
    text += `${random.chance(0.05) ? 'Connection' : random.pick(names)}${random.pick([':', ': ', ':  \t', ': '])}${random.pick(values)}\r\n`;
  }
  return text;
}

function chunked(body: string, random: Random): string {
  let text = '';
  for (let at = 0; at < body.length;) {
    const part = body.slice(at, at + random.between(1, body.length));
    const extension = random.pick(['', '', '', ';a', ';a=b', ';a="b;\\"c"', ';a=b;c', ' ', ';', ';a=', ';a ="b"']);
    const size = part.length.toString(16).padStart(random.pick([1, 1, 1, 2, 20]), '0');
    text += `${random.chance(0.5) ? size : size.toUpperCase()}${random.chance(0.3) ? extension : ''}\r\n${part}\r\n`;
    at += part.length;
  }
  return `${text}0\r\n${random.chance(0.3) ? randomFields(random, 3) : ''}${random.chance(0.05) ? 'Content-Length: 5\r\n' : ''}\r\n`;
}

function randomAnswer(random: Random): string {
  const status = Number(
    random.weighted({ 200: 20, 204: 3, 304: 3, 404: 3, 999: 1, 100: 2, 103: 2, 101: 0.3, 99: 0.3 }),
  );
  const version = random.weighted({ '1.1': 94, '1.0': 4, '0.9': 0.5, '2.0': 0.5, '1.2': 0.5, '3.0': 0.5 });
  const reason = random.pick(['OK', 'OK', 'Not Found', '', 'a\tb', 'caf\xe9']);
  const line = `HTTP/${version} ${String(status).padStart(3, '0')}${random.chance(0.05) ? '' : ` ${reason}`}\r\n`;
  const body = 'body\r\n0\r\n'.repeat(random.between(0, 8)).slice(random.between(0, 3));
  const length = random.weighted({ right: 94, wrong: 3, odd: 3 });
  const size =
    length === 'right'
      ? String(body.length)
      : length === 'wrong'
        ? String(body.length + random.between(-1, 2))
        : random.pick(['', '+1', '0x5', '5, 5', '00000000000000000005', '18446744073709551616', '1e1', ' 5 ']);
  const framing = random.weighted({ length: 10, chunked: 10, close: 2, both: 0.5, twice: 0.5, coding: 1 });
  const first = randomFields(random, random.chance(0.03) ? 60 : 4);
  const fields: Record<string, string> = {
    length: `Content-Length: ${size}\r\n`,
    chunked: 'Transfer-Encoding: chunked\r\n',
    close: '',
    both: `Content-Length: ${size}\r\n${randomFields(random, 1)}Transfer-Encoding: ${random.pick(codings)}\r\n`,
    twice: `Content-Length: ${size}\r\ncontent-length: ${size}\r\n`,
    coding: `Transfer-Encoding: ${random.pick(codings)}\r\n${random.chance(0.3) ? 'Transfer-Encoding: chunked\r\n' : ''}`,
  };
  const large = random.chance(0.01) ? `X-Large: ${'x'.repeat(maxAnswerHead - random.between(-50, 400))}\r\n` : '';
  const folded = random.chance(0.03) ? `X-F: a\r\n${random.pick([' ', '\t'])}b\r\n` : '';
  const head = `${line}${first}${fields[framing] ?? ''}${large}${folded}${randomFields(random, 2)}\r\n`;
  if (status < 200 || status === 204 || status === 304) return random.chance(0.9) ? head : `${head}${body}`;
  return `${head}${framing === 'chunked' || framing === 'coding' ? chunked(body, random) : body}`;
}

function damage(text: string, random: Random): string {
  const at = random.between(0, text.length);
  const kind = random.weighted({ insert: 4, replace: 4, remove: 3, cut: 1, repeat: 1 });
  if (kind === 'insert') return `${text.slice(0, at)}${random.pick(noise)}${text.slice(at)}`;
  if (kind === 'replace') return `${text.slice(0, at)}${random.pick(noise)}${text.slice(at + 1)}`;
  if (kind === 'remove') return `${text.slice(0, at)}${text.slice(at + random.between(1, 4))}`;
  if (kind === 'cut') return text.slice(0, at);
  return `${text.slice(0, at)}${text.slice(Math.max(0, at - 20))}`;
}

function randomCase(random: Random): Case {
  let text = '';
  for (let count = random.between(1, 3); count > 0; count--) text += randomAnswer(random);
  if (random.chance(0.4)) for (let count = random.between(1, 3); count > 0; count--) text = damage(text, random);
  const methods = Array.from({ length: 4 }, () => (random.chance(0.15) ? 'HEAD' : 'GET'));
  return { bytes: Buffer.from(text, 'latin1'), methods, ends: random.chance(0.5) };
}

/** A description of the first difference that is not allowed. */
function difference(one: Case, ours: Reading, node: Reading): string | undefined {
  for (const [index, answer] of ours.answers.entries()) {
    const nodeAnswer = node.answers[index];
    if (!nodeAnswer) return `node:http does not read answer ${index}`;
    for (const field of ['status', 'statusMessage', 'headers'] as const) {
      if (answer[field] !== nodeAnswer[field]) return `answer ${index}: ${field}`;
    }
    if (answer.whole && (!nodeAnswer.whole || answer.body !== nodeAnswer.body)) return `answer ${index}: body or end`;
    if (!answer.whole && !nodeAnswer.body.startsWith(answer.body) && !answer.body.startsWith(nodeAnswer.body)) {
      return `answer ${index}: start of the body`;
    }
    // llhttp checks the length even where an answer has no body, as one to HEAD.
    const needsLength = methodOf(one, index) === 'HEAD';
    if (answer.keepAlive && !nodeAnswer.keepAlive && !needsLength)
      return `answer ${index}: the connection is not reusable`;
  }
  const stopped = ours.answers.at(-1);
  if (stopped?.whole && !stopped.keepAlive) return undefined;
  if (ours.refusal === undefined) {
    if (ours.answers.length < node.answers.length) return 'missing an answer';
    return stopped && !stopped.whole && node.answers.at(-1)?.whole ? 'missing the end of an answer' : undefined;
  }
  if (node.refusal !== undefined && node.answers.length <= ours.answers.length) return undefined;
  const text = one.bytes.toString('latin1');
  const excused = stricter.some(({ refusal, bytes }) => refusal === ours.refusal && bytes.test(text));
  return excused ? undefined : `refused (${ours.refusal}), which node:http accepts`;
}

const seed = testSeed();
t.test(`reads what node:http reads, and refuses what it refuses (SVC_SEED=${seed})`, (t) => {
  const random = seededRandom(seed);
  const counts = { cases: 0, whole: 0, refused: 0 };
  const failures: unknown[] = [];
  for (const total = Math.floor(20_000 * soakFactor()); counts.cases < total && failures.length < 5; counts.cases++) {
    const one = randomCase(random);
    const ours = readWithOurs(one, random);
    const node = readWithNode(one, random);
    if (ours.refusal !== undefined) counts.refused++;
    else if (ours.answers.every(({ whole }) => whole)) counts.whole++;
    const problem = difference(one, ours, node);
    if (problem !== undefined) failures.push({ problem, ...one, bytes: one.bytes.toString('latin1'), ours, node });
  }
  t.comment(counts);
  t.same(failures, []);
  t.ok(counts.whole > counts.cases / 10 && counts.refused > counts.cases / 10, 'both kinds are common');
  t.end();
});
