// The contract of `handler(event, context)` (docs/reference/functions.md#runtimes): one table, which every runtime passes.
import { once } from 'node:events';
import { Agent, request as httpRequest, type IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import t from 'tap';
import {
  callFunction,
  json,
  missing,
  nodeRuntime,
  pythonRuntime,
  runFunction,
  startFunction,
  type Entry,
  type FunctionRuntime,
} from '../../support/function-runtime.ts';

const mebibyte = 1024 * 1024;
type Test = typeof t;
type Code = Record<FunctionRuntime['name'], string>;

/** What the rows of the table need from the runtime under test. */
interface Rig {
  start: (code: Code, env?: Record<string, string>) => ReturnType<typeof startFunction>;
  run: (code: Code, env?: Record<string, string>) => ReturnType<typeof runFunction>;
}

const table: Record<string, (t: Test, rig: Rig) => Promise<void>> = {};

const echo: Code = {
  node: `
export const handler = (event, context) => ({
  statusCode: 200,
  body: {
    type: event === null ? 'null' : Buffer.isBuffer(event) ? 'bytes' : typeof event,
    event: Buffer.isBuffer(event) ? event.toString('hex') : event,
    method: context.method, path: context.path, query: context.query, header: context.headers['x-one'],
    cookie: context.headers.cookie, requestId: context.requestId,
  },
});`,
  python: `
def handler(event, context=None):
    kind = 'null' if event is None else 'bytes' if isinstance(event, bytes) else 'string' if isinstance(event, str) else 'object'
    return {
        'statusCode': 200,
        'body': {
            'type': kind,
            'event': event.hex() if kind == 'bytes' else event,
            'method': context.method, 'path': context['path'], 'query': context.query,
            'header': context.headers.get('x-one'), 'cookie': context.headers.get('cookie'),
            'requestId': context.request_id,
        },
    }`,
};

table['the event is the body, by its content type'] = async (t, { start }) => {
  const running = await start(echo);
  const rows: [string | undefined, string | Buffer | undefined, unknown, unknown][] = [
    ['application/json', '{"a":[1]}', 'object', { a: [1] }],
    ['application/problem+json; charset=utf-8', '{"a":1}', 'object', { a: 1 }],
    ['text/plain', 'hi ü', 'string', 'hi ü'],
    ['application/x-www-form-urlencoded', 'a=1', 'string', 'a=1'],
    ['application/octet-stream', Buffer.from([0, 255]), 'bytes', '00ff'],
    [undefined, Buffer.from([1]), 'bytes', '01'],
    ['application/json', undefined, 'null', null],
  ];
  for (const [type, body, kind, event] of rows) {
    const answer = await callFunction(running, {
      headers: type === undefined ? {} : { 'content-type': type },
      ...(body !== undefined && { body }),
    });
    t.match(json(answer), { type: kind, event }, String(type));
  }
  for (const body of ['{"a":', 'NaN', '']) {
    const broken = await callFunction(running, { headers: { 'content-type': 'application/json' }, body: `${body} ` });
    t.equal(broken.status, 400);
    t.match(json(broken), { code: 'invalid_json', requestId: String });
  }
};

table['the context carries method, path, query, headers and the request id'] = async (t, { start }) => {
  const running = await start(echo);
  for (const method of ['GET', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'PROPFIND']) {
    const answer = await callFunction(running, {
      method,
      path: '/a/b?x=1&y=%20',
      headers: { 'x-one': 'two', 'x-request-id': 'given-1' },
    });
    t.match(json(answer), { method, path: '/a/b', query: { x: '1', y: ' ' }, header: 'two', requestId: 'given-1' });
    t.equal(answer.headers['x-request-id'], 'given-1');
  }
  const head = await callFunction(running, { method: 'HEAD' });
  t.match(head, { status: 200, headers: { 'content-type': 'application/json' } });
  t.equal(head.body.length, 0);
  const forged = await callFunction(running, { headers: { 'x-request-id': 'a b"c' } });
  t.match(forged.headers['x-request-id'], /^[0-9a-f-]{36}$/);
  const paths: [string, string, object][] = [
    ['//other.host/a?x=1', '//other.host/a', { x: '1' }],
    ['/a%2Fb?', '/a%2Fb', {}],
    ['/?x=1&x=2&x=3', '/', { x: ['1', '2', '3'] }],
    ['/?x=&y', '/', { x: '', y: '' }],
    ['/?__proto__=1', '/', {}],
  ];
  for (const [sent, path, query] of paths) t.match(json(await callFunction(running, { path: sent })), { path, query });
  const twice = json(await callFunction(running, { headers: { 'X-One': ['a', 'b'], Cookie: ['a=1', 'b=2'] } }));
  t.match(twice, { header: 'a, b', cookie: 'a=1; b=2' }, 'several headers of one name are all there');
};

table["the handler's return value becomes the answer"] = async (t, { start }) => {
  const running = await start({
    node: `
const circular = { a: 1 }; circular.self = circular;
async function* chunks() { yield 'a,'; yield Buffer.from('b'); }
const results = {
  status: { statusCode: 418, headers: { 'x-a': 1, 'set-cookie': ['a=1', 'b=2'] }, body: 'tea' },
  bytes: { body: Buffer.from([1, 2]) },
  stream: { headers: { 'content-type': 'text/csv' }, body: chunks() },
  json: { statusCode: 201, body: { a: [1, 'ü'] } }, headersOnly: { headers: { 'x-a': 'b', 'x-none': undefined } },
  object: { answer: 42 }, record: { id: 1, body: 'text' }, list: [1, 2], number: 0, text: 'plain',
  nothing: null, empty: { statusCode: 204 }, silent: { statusCode: 204, body: 'x' },
  wrong: { statusCode: 42 }, wrongHeader: { headers: { 'x a': '1' } }, split: { headers: { x: 'a\\r\\nb: c' } }, circular,
};
export const handler = (event, { path }) => results[path.slice(1)];`,
    python: `
circular = {'a': 1}
circular['self'] = circular
def chunks():
    yield 'a,'
    yield b'b'
results = {
    'status': {'statusCode': 418, 'headers': {'x-a': 1, 'set-cookie': ['a=1', 'b=2']}, 'body': 'tea'},
    'bytes': {'body': bytes([1, 2])},
    'stream': {'headers': {'content-type': 'text/csv'}, 'body': chunks()},
    'json': {'statusCode': 201, 'body': {'a': [1, 'ü']}}, 'headersOnly': {'headers': {'x-a': 'b', 'x-none': None}},
    'object': {'answer': 42}, 'record': {'id': 1, 'body': 'text'}, 'list': [1, 2], 'number': 0, 'text': 'plain',
    'nothing': None, 'empty': {'statusCode': 204}, 'silent': {'statusCode': 204, 'body': 'x'},
    'wrong': {'statusCode': 42}, 'wrongHeader': {'headers': {'x a': '1'}}, 'split': {'headers': {'x': 'a\\r\\nb: c'}},
    'circular': circular,
}
def handler(event, context):
    return results[context.path[1:]]`,
  });
  const get = (path: string) => callFunction(running, { method: 'GET', path });
  const status = await get('/status');
  t.equal(status.status, 418);
  t.equal(status.headers['x-a'], '1');
  t.same(status.headers['set-cookie'], ['a=1', 'b=2']);
  t.match(status.headers['content-type'], 'text/plain');
  t.equal(status.body.toString(), 'tea');
  t.same((await get('/bytes')).body, Buffer.from([1, 2]));
  const stream = await get('/stream');
  t.equal(stream.headers['content-type'], 'text/csv');
  t.equal(stream.body.toString(), 'a,b');
  t.same(json(await get('/object')), { answer: 42 });
  t.equal((await get('/text')).body.toString(), 'plain');
  const created = await get('/json');
  t.equal(created.status, 201);
  t.match(created.headers['content-type'], 'application/json');
  t.same(json(created), { a: [1, 'ü'] });
  t.match((await get('/headersOnly')).headers, { 'x-a': 'b', 'content-length': '0' });
  t.same(json(await get('/record')), { id: 1, body: 'text' }, 'data with a field "body" is not a response');
  t.same(json(await get('/list')), [1, 2]);
  t.same(json(await get('/number')), 0);
  for (const path of ['/nothing', '/empty', '/silent']) {
    t.match(await get(path), { status: 204, body: Buffer.alloc(0) }, path);
  }
  for (const path of ['/wrong', '/wrongHeader', '/split', '/circular']) {
    const answer = await get(path);
    t.equal(answer.status, 500, path);
    t.equal(json(answer)['code'], 'function_error', path);
  }
};

table['a stream is sent as it is produced, without buffering'] = async (t, { start }) => {
  const running = await start({
    node: `
let release; const seen = new Promise((resolve) => { release = resolve; });
export const handler = (event, { path }) => {
  if (path === '/seen') return void release();
  return { body: path === '/large' ? (async function* () { const part = Buffer.alloc(1048576); for (let i = 0; i < 64; i++) yield part; })()
    : (async function* () { yield 'first'; await seen; yield 'second'; })() };
};`,
    python: `
import threading
seen = threading.Event()
def parts():
    yield 'first'
    seen.wait()
    yield 'second'
def handler(event, context):
    if context.path == '/seen':
        return seen.set()
    return {'body': (bytes(1048576) for _ in range(64)) if context.path == '/large' else parts()}`,
  });
  const request = httpRequest({ port: running.port, host: '127.0.0.1', agent: false }).end();
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  const parts: AsyncIterator<Buffer> = response[Symbol.asyncIterator]();
  t.equal(String((await parts.next()).value), 'first', 'before the second is there');
  await callFunction(running, { path: '/seen' });
  t.equal(String((await parts.next()).value), 'second');
  t.equal((await callFunction(running, { path: '/large' })).body.length, 64 * mebibyte);
};

table['a stream that fails is a 500 before its first chunk, and a broken answer after it'] = async (t, { start }) => {
  const running = await start({
    node: `
async function* failing(first) { if (first) yield 'some'; await new Promise(setImmediate); throw new Error('broken stream'); }
async function* objects() { yield { a: 1 }; }
export const handler = (event, { path }) => ({ body: path === '/objects' ? objects() : failing(path === '/late') });`,
    python: `
def failing(first):
    if first:
        yield 'some'
    raise ValueError('broken stream')
def objects():
    yield {'a': 1}
def handler(event, context):
    return {'body': objects() if context.path == '/objects' else failing(context.path == '/late')}`,
  });
  t.equal((await callFunction(running, { path: '/early' })).status, 500);
  t.equal((await callFunction(running, { path: '/objects' })).status, 500);
  await t.rejects(callFunction(running, { path: '/late' }), { code: 'ECONNRESET' });
  t.ok(await running.entry(({ error }) => String(error).includes('broken stream')));
  t.equal((await callFunction(running, { path: '/early' })).status, 500, 'and the function still runs');
};

table['an exception is a 500 with a request id; its stack is only in the log'] = async (t, { start }) => {
  const running = await start({
    node: `export async function handler() { console.log('about to fail'); throw new Error('secret detail'); }`,
    python: `
async def handler(event, context):
    print('about to fail')
    raise ValueError('secret detail')`,
  });
  const answer = await callFunction(running, { headers: { 'x-request-id': 'r-1' } });
  t.equal(answer.status, 500);
  t.match(json(answer), { code: 'function_error', requestId: 'r-1' });
  t.notMatch(answer.body.toString(), 'secret detail');
  const logged = await running.entry(({ level }) => level === 'error');
  t.match(logged, { requestId: 'r-1', error: /secret detail/, time: /^\d{4}-\d\d-\d\dT[\d:]{8}\.\d{3}Z$/ });
  t.match(logged['error'], /handler\.(js:1|py", line 4)/);
  t.match(await running.entry(({ msg }) => msg === 'about to fail'), { requestId: 'r-1', level: 'info' });
};

table['an event is a POST to /event: its row, item or object is the event; a failure is never a 2xx'] = async (
  t,
  { start },
) => {
  const running = await start({
    node: `export const handler = (event, { method, path }) => {
      if (method + path !== 'POST/event' || (event !== 'an item' && event.id !== 7)) throw new Error('not this one');
    };`,
    python: `
def handler(event, context=None):
    if context.method + context.path != 'POST/event' or (event != 'an item' and event['id'] != 7):
        raise ValueError('not this one')`,
  });
  const post = (body: string) =>
    callFunction(running, { path: '/event', headers: { 'content-type': 'application/json' }, body });
  t.equal((await post('{"id":7,"name":"a"}')).status, 204);
  t.equal((await post('"an item"')).status, 204, 'an item of a list may be text');
  t.equal((await post('{"id":8}')).status, 500);
  t.equal((await post('{"id":')).status, 400);
};

const length: Code = {
  node: 'export const handler = (event) => String(event?.length ?? 0);',
  python: 'def handler(event, context):\n    return str(len(event or b""))',
};

table['the first line of the log says which version of the runtime serves, and where'] = async (t, { start }) => {
  const running = await start(length);
  const runtime = /^(node|python) \d+\.\d+\.\d+/;
  t.match(running.entries[0], { level: 'info', msg: 'function ready', port: running.port, runtime });
};

table['a body over 32 MiB is refused with 413, and the connection stays usable'] = async (t, { start }) => {
  const running = await start(length);
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  t.teardown(() => agent.destroy());
  const body = Buffer.alloc(32 * mebibyte + 1);
  const declared = await callFunction(running, { body, agent });
  t.equal(declared.status, 413);
  t.match(json(declared), { code: 'body_too_large', requestId: String });
  const chunked = await callFunction(running, { body, agent, headers: { 'transfer-encoding': 'chunked' } });
  t.equal(chunked.status, 413, 'without a declared length, too');
  const largest = await callFunction(running, { body: body.subarray(1), agent });
  t.equal(largest.body.toString(), String(32 * mebibyte), 'exactly the limit is allowed');
};

table['a request that is invalid or ambiguous is refused and its connection closed'] = async (t, { start }) => {
  const running = await start(length);
  const send = async (raw: string) => {
    const socket = connect(running.port, '127.0.0.1');
    let output = '';
    socket.on('data', (data) => (output += data.toString()));
    // Unread data causes a reset.
    socket.on('error', () => undefined);
    socket.write(raw.replaceAll('\n', '\r\n'));
    await once(socket, 'close').catch(() => undefined);
    return output;
  };
  const post = 'POST / HTTP/1.1\nHost: a\n';
  for (const raw of [
    'nonsense\n\n',
    `${post}Content-Length: 3\nTransfer-Encoding: chunked\n\n0\n\n`,
    `${post}Content-Length: 3\nContent-Length: 4\n\nabcd`,
    `${post}Content-Length: +3\n\nabc`,
    `${post}Transfer-Encoding: chunked\n\nzz\n\n`,
    `${post}x y: 1\n\n`,
  ]) {
    const answer = await send(raw);
    t.match(answer, /^HTTP\/1\.1 400 /, raw);
    t.notMatch(answer, ' 200 ');
  }
  t.match(await send(`GET / HTTP/1.1\nHost: a\nx: ${'x'.repeat(70_000)}\n\n`), /^HTTP\/1\.1 431 /);
  const two = await send(
    `${post}Content-Length: 1\n\na${post}Connection: close\nTransfer-Encoding: chunked\n\n2\nab\n0\n\n`,
  );
  const bodies = [...two.matchAll(/\r\n\r\n(\d)/g)].map(([, body]) => body);
  t.same(bodies, ['1', '2'], 'two requests in one go are answered in their order');
  t.equal((await callFunction(running)).status, 200);
};

table['a client that expects 100 Continue gets it'] = async (t, { start }) => {
  const running = await start(length);
  const headers = { expect: '100-continue', 'content-length': '3' };
  const request = httpRequest({ port: running.port, host: '127.0.0.1', method: 'POST', agent: false, headers });
  request.flushHeaders();
  await once(request, 'continue');
  request.end('abc');
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  t.equal(await text(response), '3');
};

table['a client that disconnects aborts the signal of its request'] = async (t, { start }) => {
  const running = await start({
    node: `export const handler = (event, { signal }) => new Promise((resolve) => {
      console.log('waiting');
      signal.addEventListener('abort', () => { console.log('client gone'); resolve({}); });
    });`,
    python: `
def handler(event, context):
    print('waiting')
    context.cancelled.wait()
    print('client gone')`,
  });
  const request = httpRequest({ port: running.port, host: '127.0.0.1', agent: false }).end();
  request.on('error', () => undefined);
  await running.entry(({ msg }) => msg === 'waiting');
  request.destroy();
  t.ok(await running.entry(({ msg }) => msg === 'client gone'));
  t.notOk(
    running.entries.some(({ level }) => level === 'error'),
    'which is no error',
  );
};

table['a stream is closed when its reader leaves'] = async (t, { start }) => {
  const running = await start({
    node: `
    async function* forever() { try { for (;;) { yield 'x'; await new Promise(setImmediate); } } finally { console.log('source closed'); } }
    export const handler = () => ({ body: forever() });`,
    python: `
def forever():
    try:
        while True:
            yield 'x'
    finally:
        print('source closed')
def handler(event, context):
    return {'body': forever()}`,
  });
  const request = httpRequest({ port: running.port, host: '127.0.0.1', agent: false }).end();
  request.on('error', () => undefined);
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  response.on('error', () => undefined);
  await once(response, 'data');
  request.destroy();
  t.ok(await running.entry(({ msg }) => msg === 'source closed'));
};

table['requests run at the same time, and keep their own ids'] = async (t, { start }) => {
  const running = await start({
    node: `
    let release; const both = new Promise((resolve) => { release = resolve; }); let count = 0;
    export const handler = async (event, { requestId }) => { if (++count === 2) release(); await both; console.log('for ' + requestId); };`,
    python: `
import threading
both = threading.Barrier(2)
def handler(event, context):
    both.wait(30)
    print('for ' + context.request_id)`,
  });
  await Promise.all(['a', 'b'].map((id) => callFunction(running, { headers: { 'x-request-id': id } })));
  for (const id of ['a', 'b']) t.match(await running.entry(({ msg }) => msg === `for ${id}`), { requestId: id });
};

table['code that does not load ends the process with its error, and nothing ever listens'] = async (t, { run }) => {
  const rows: [Code, RegExp][] = [
    [{ node: 'export const handler = nothing.here;', python: 'handler = nothing.here' }, /nothing'? is not defined/],
    [{ node: 'export const x = 1;', python: 'x = 1' }, /does not (export|define) a function named "handler"/],
    [
      { node: 'export const handler = () => {\n  return (;\n};', python: 'def handler(event):\n  return (;\n' },
      /handler\.(js:2\n {2}return \(;|py", line 2\n {4}return \(;)/,
    ],
    [
      {
        node: "setInterval(() => {}, 1000); throw new Error('although a timer runs');",
        python:
          "import threading\nthreading.Thread(target=threading.Event().wait).start()\nraise ValueError('although a timer runs')",
      },
      /although a timer runs/,
    ],
    [{ node: 'process.exit(0);', python: 'import sys\nsys.exit(0)' }, /it exited/],
    [{ node: "import 'not-there'; export const handler = () => {};", python: 'import not_there' }, /not[-_]there/],
  ];
  for (const [code, reason] of rows) {
    const { exit, entries, last } = await run(code, { PORT: '0' });
    t.equal(exit, 1, String(reason));
    t.match(last, { level: 'fatal', msg: /could not be loaded/ });
    t.match(`${String(last?.['msg'])}\n${String(last?.['error'])}`, reason);
    t.notOk(entries.some(({ msg }) => msg === 'function ready'));
  }
};

table['on SIGTERM requests in progress and late ones are answered, then the process ends'] = async (t, { start }) => {
  const running = await start({
    node: `let finish; const end = new Promise((resolve) => { finish = resolve; });
    export const handler = (event, { path }) => {
      if (path === '/finish') return void finish();
      if (path === '/quick') return 'quick';
      console.log('waiting');
      return end.then(() => 'done');
    };`,
    python: `
import threading
end = threading.Event()
def handler(event, context):
    if context.path == '/finish':
        return end.set()
    if context.path == '/quick':
        return 'quick'
    print('waiting')
    end.wait()
    return 'done'`,
  });
  const agent = new Agent({ keepAlive: true });
  t.teardown(() => agent.destroy());
  const exited = once(running.child, 'exit');
  await callFunction(running, { path: '/quick', agent });
  const answer = callFunction(running, { agent });
  await running.entry(({ msg }) => msg === 'waiting');
  running.child.kill('SIGTERM');
  let late = await callFunction(running, { path: '/quick', agent });
  // The signal may come after the request.
  while (late.headers.connection !== 'close') late = await callFunction(running, { path: '/quick', agent });
  t.equal(late.body.toString(), 'quick', 'and its connection is closed');
  await callFunction(running, { path: '/finish' });
  t.equal((await answer).body.toString(), 'done');
  t.same(await exited, [0, null], 'although a client keeps its connection');
};

const tell: Code = {
  node: `setInterval(() => {}, 1000);
    export const handler = (event, { trigger, run }) => console.log(JSON.stringify({ event, trigger, run }));`,
  python: `
import json, threading
threading.Thread(target=threading.Event().wait).start()
def handler(event, context):
    print(json.dumps({'event': event, 'trigger': context.trigger, 'run': context.run}))`,
};
const entriesOf = ({ entries }: { entries: Entry[] }) =>
  JSON.parse(String(entries[0]?.['msg'])) as { event: { schedule: string; time: string }; trigger: string };

table['a batch run calls the handler once with the schedule and the scheduled time, and ends with 0'] = async (
  t,
  { run },
) => {
  const ran = await run(tell);
  t.equal(ran.exit, 0, 'although a timer or thread runs');
  t.same(entriesOf(ran), {
    event: { schedule: '*/5 * * * *', time: '2025-11-14T01:50:00.000Z' },
    trigger: 'cron',
    run: 'tick-29384750',
  });
  t.equal(ran.entries.length, 2);
  t.match(ran.entries, [{ requestId: 'tick-29384750' }, { level: 'info', msg: 'run succeeded', trigger: 'cron' }]);

  const before = Date.now();
  const result = await run(tell, { SVC_MODE: 'batch', SVC_TRIGGER: 'test', SVC_RUN: 'tick-test-0000000001' });
  const { event, trigger } = entriesOf(result);
  t.equal(trigger, 'test');
  t.ok(Date.parse(event.time) >= before && Date.parse(event.time) <= Date.now(), `a test is due now: ${event.time}`);
};

table['a run that fails ends with 1, and the log has the reason'] = async (t, { run }) => {
  const rows: [Code, RegExp, RegExp][] = [
    [
      {
        node: 'export const handler = () => { throw new Error("boom"); };',
        python: 'def handler(event, context): raise ValueError("boom")',
      },
      /^the handler failed: (ValueError: )?boom$/,
      /handler\.(js:1|py", line 1)/,
    ],
    [
      {
        node: 'export const handler = async () => { await null; throw new Error("late"); };',
        python:
          'import asyncio\nasync def handler(event, context):\n  await asyncio.sleep(0)\n  raise ValueError("late")',
      },
      /failed: (ValueError: )?late/,
      /handler\.(js:1|py", line 4)/,
    ],
    [
      { node: 'export const handler = nothing.here;', python: 'handler = nothing.here' },
      /could not be loaded: (NameError: name ')?nothing'? is not defined/,
      /handler\.(js:1|py", line 1)/,
    ],
    [
      { node: 'export const x = 1;', python: 'x = 1' },
      /does not (export|define) a function named "handler"/,
      /TypeError/,
    ],
  ];
  for (const [code, message, stack] of rows) {
    const { exit, last } = await run(code);
    t.equal(exit, 1, String(message));
    t.match(last, { level: 'fatal', msg: message });
    t.match(String(last?.['error']), stack);
  }
};

table['on SIGTERM a run is aborted, and ends as its handler does'] = async (t, { run }) => {
  const ran = await run({
    node: `export const handler = (event, { signal }) => new Promise((resolve) => {
      const timer = setInterval(() => {}, 1000);
      signal.addEventListener('abort', () => { clearInterval(timer); console.log('stopping'); resolve(); });
      console.log('end me');
    });`,
    python: `
def handler(event, context):
    print('end me')
    context.cancelled.wait()
    print('stopping')`,
  });
  t.equal(ran.exit, 0);
  t.match(ran.entries, [{ msg: 'end me' }, { msg: 'stopping' }, { msg: 'run succeeded' }]);
};

for (const runtime of [nodeRuntime, pythonRuntime]) {
  const skip = missing(runtime);
  t.test(runtime.name, skip === undefined ? {} : { skip }, async (t) => {
    for (const [name, row] of Object.entries(table)) {
      await t.test(name, (t) =>
        row(t as unknown as Test, {
          start: (code, env) => startFunction(t, runtime, code[runtime.name], env),
          run: (code, env) => runFunction(t, runtime, code[runtime.name], env),
        }),
      );
    }
  });
}
