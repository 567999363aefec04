import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { Agent, request as httpRequest, type IncomingHttpHeaders, type IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { buffer } from 'node:stream/consumers';
import t from 'tap';

const server = join(import.meta.dirname, '../../../infra/images/function-node/server.mjs');
const mebibyte = 1024 * 1024;

type Entry = Record<string, unknown>;
type TestFolder = Pick<typeof t, 'teardown'>;

interface Running {
  port: number;
  child: ChildProcess;
  entries: Entry[];
  /** The first entry that matches, now or later. */
  entry(matches: (entry: Entry) => boolean): Promise<Entry>;
}

/** A folder with the code outside of the checkout, whose package.json would say what kind of module it is. */
function codeFolder(t: TestFolder, code: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'svc-code-'));
  t.teardown(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, 'handler.js'), code);
  return folder;
}

/** Starts the real runtime with this code; ended with the test. */
async function start(t: TestFolder, code: string): Promise<Running> {
  const folder = codeFolder(t, code);
  const child = spawn(process.execPath, [server], {
    env: { PATH: process.env['PATH'], PORT: '0', SVC_CODE_FILE: join(folder, 'handler.js') },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  t.teardown(() => child.kill('SIGKILL'));
  const entries: Entry[] = [];
  const waiting = new Set<() => void>();
  createInterface({ input: child.stdout }).on('line', (line) => {
    entries.push(JSON.parse(line) as Entry);
    for (const look of waiting) look();
  });
  const entry = (matches: (entry: Entry) => boolean) =>
    new Promise<Entry>((resolve) => {
      const look = () => {
        const found = entries.find(matches);
        if (!found) return;
        waiting.delete(look);
        resolve(found);
      };
      waiting.add(look);
      look();
    });
  const ready = await Promise.race([entry(({ msg }) => msg === 'function ready'), once(child, 'exit')]);
  return { port: Number((ready as Entry)['port']), child, entries, entry };
}

interface Answer {
  status: number;
  headers: IncomingHttpHeaders;
  body: Buffer;
}

async function call(
  { port }: Running,
  options: {
    method?: string;
    path?: string;
    headers?: Record<string, string | string[]>;
    body?: string | Buffer;
    agent?: Agent;
  } = {},
): Promise<Answer> {
  const request = httpRequest({
    ...{ port, host: '127.0.0.1', path: options.path ?? '/', method: options.method ?? 'POST' },
    ...{ headers: options.headers ?? {}, agent: options.agent ?? false },
  });
  // After the answer has begun, a body that is still being written may fail; the answer is what counts.
  request.on('error', () => undefined);
  request.end(options.body);
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  return { status: response.statusCode ?? 0, headers: response.headers, body: await buffer(response) };
}

const json = (answer: Answer) => JSON.parse(answer.body.toString()) as Record<string, unknown>;

const echo = `
export const handler = (event, context) => ({
  statusCode: 200,
  body: {
    type: event === null ? 'null' : Buffer.isBuffer(event) ? 'bytes' : typeof event,
    event: Buffer.isBuffer(event) ? event.toString('hex') : event,
    method: context.method, path: context.path, query: context.query, header: context.headers['x-one'],
    requestId: context.requestId,
  },
});`;

t.test('the event is the body, by its content type', async (t) => {
  const running = await start(t, echo);
  const table: [string | undefined, string | Buffer | undefined, unknown, unknown][] = [
    ['application/json', '{"a":[1]}', 'object', { a: [1] }],
    ['application/problem+json; charset=utf-8', '{"a":1}', 'object', { a: 1 }],
    ['text/plain', 'hi ü', 'string', 'hi ü'],
    ['application/x-www-form-urlencoded', 'a=1', 'string', 'a=1'],
    ['application/octet-stream', Buffer.from([0, 255]), 'bytes', '00ff'],
    [undefined, Buffer.from([1]), 'bytes', '01'],
    ['application/json', undefined, 'null', null],
  ];
  for (const [type, body, kind, event] of table) {
    const answer = await call(running, {
      headers: type === undefined ? {} : { 'content-type': type },
      ...(body !== undefined && { body }),
    });
    t.match(json(answer), { type: kind, event }, String(type));
  }
  const broken = await call(running, { headers: { 'content-type': 'application/json' }, body: '{"a":' });
  t.equal(broken.status, 400);
  t.equal(json(broken)['code'], 'invalid_json');
});

t.test('the context carries method, path, query, headers and the request id', async (t) => {
  const running = await start(t, echo);
  for (const method of ['GET', 'PUT', 'PATCH', 'DELETE']) {
    const answer = await call(running, {
      method,
      path: '/a/b?x=1&y=%20',
      headers: { 'x-one': 'two', 'x-request-id': 'given-1' },
    });
    t.match(json(answer), { method, path: '/a/b', query: { x: '1', y: ' ' }, header: 'two', requestId: 'given-1' });
    t.equal(answer.headers['x-request-id'], 'given-1');
  }
  const forged = await call(running, { headers: { 'x-request-id': 'a b"c' } });
  t.match(forged.headers['x-request-id'], /^[0-9a-f-]{36}$/);
  const paths: [string, string, object][] = [
    ['//other.host/a?x=1', '//other.host/a', { x: '1' }],
    ['/a%2Fb?', '/a%2Fb', {}],
    ['/?x=1&x=2&x=3', '/', { x: ['1', '2', '3'] }],
    ['/?__proto__=1', '/', {}],
  ];
  for (const [sent, path, query] of paths) t.match(json(await call(running, { path: sent })), { path, query }, sent);
  const twice = await call(running, { headers: { 'x-one': ['a', 'b'] } });
  t.equal(json(twice)['header'], 'a, b', 'several headers of one name are all there');
});

t.test('what the handler returns becomes the answer', async (t) => {
  const running = await start(
    t,
    `import { Readable } from 'node:stream';
     const circular = { a: 1 }; circular.self = circular;
     const results = {
       status: { statusCode: 418, headers: { 'x-a': 1, 'set-cookie': ['a=1', 'b=2'] }, body: 'tea' },
       bytes: { body: Buffer.from([1, 2]) },
       stream: { headers: { 'content-type': 'text/csv' }, body: Readable.from(['a,', 'b']) },
       web: { body: new Blob(['we', 'b']).stream() }, iterable: { body: (async function* () { yield 'i'; yield Buffer.from('t'); })() },
       json: { statusCode: 201, body: { a: [1] } }, headersOnly: { headers: { 'x-a': 'b', 'x-none': undefined } },
       object: { answer: 42 }, record: { id: 1, body: 'text' }, list: [1, 2], number: 0, text: 'plain',
       nothing: undefined, nil: null, empty: { statusCode: 204 },
       wrong: { statusCode: 42 }, wrongHeader: { headers: { 'x a': '1' } }, circular,
     };
     export default (event, { path }) => results[path.slice(1)];`,
  );
  const get = (path: string) => call(running, { method: 'GET', path });
  const status = await get('/status');
  t.equal(status.status, 418);
  t.equal(status.headers['x-a'], '1');
  t.same(status.headers['set-cookie'], ['a=1', 'b=2']);
  t.equal(status.body.toString(), 'tea');
  t.same((await get('/bytes')).body, Buffer.from([1, 2]));
  const stream = await get('/stream');
  t.equal(stream.headers['content-type'], 'text/csv');
  t.equal(stream.body.toString(), 'a,b');
  t.same(json(await get('/object')), { answer: 42 });
  t.equal((await get('/text')).body.toString(), 'plain');
  t.equal((await get('/web')).body.toString(), 'web');
  t.equal((await get('/iterable')).body.toString(), 'it');
  const created = await get('/json');
  t.equal(created.status, 201);
  t.match(created.headers['content-type'], 'application/json');
  t.same(json(created), { a: [1] });
  t.match((await get('/headersOnly')).headers, { 'x-a': 'b', 'content-length': '0' });
  t.same(json(await get('/record')), { id: 1, body: 'text' }, 'data with a field "body" is no answer');
  t.same(json(await get('/list')), [1, 2]);
  t.same(json(await get('/number')), 0);
  for (const path of ['/nothing', '/nil', '/empty']) t.equal((await get(path)).status, 204, path);
  for (const path of ['/wrong', '/wrongHeader', '/circular']) {
    const answer = await get(path);
    t.equal(answer.status, 500, path);
    t.equal(json(answer)['code'], 'function_error', path);
  }
});

t.test('a stream that fails is a 500 before its first chunk, and a broken answer after it', async (t) => {
  const running = await start(
    t,
    `import { Readable } from 'node:stream';
     async function* failing(first) { if (first) yield 'some'; await new Promise(setImmediate); throw new Error('broken stream'); }
     export const handler = (event, { path }) => ({
       body: path === '/objects' ? Readable.from([{ a: 1 }]) : failing(path === '/late'),
     });`,
  );
  t.equal((await call(running, { path: '/early' })).status, 500);
  t.equal((await call(running, { path: '/objects' })).status, 500);
  await t.rejects(call(running, { path: '/late' }), { code: 'ECONNRESET' });
  t.ok(await running.entry(({ error }) => String(error).includes('broken stream')));
  t.equal((await call(running, { path: '/early' })).status, 500, 'and the function still runs');
});

t.test('CommonJS code works as well', async (t) => {
  const running = await start(t, 'exports.handler = async (event) => ({ body: String(event) });');
  const answer = await call(running, { headers: { 'content-type': 'text/plain' }, body: 'x' });
  t.equal(answer.body.toString(), 'x');
});

t.test('an exception is a 500 with a request id; its stack stands in the log only', async (t) => {
  const running = await start(
    t,
    `export async function handler() { console.log('about to fail'); throw new Error('secret detail'); }`,
  );
  const answer = await call(running, { headers: { 'x-request-id': 'r-1' } });
  t.equal(answer.status, 500);
  t.match(json(answer), { code: 'function_error', requestId: 'r-1' });
  t.notMatch(answer.body.toString(), 'secret detail');
  t.match(await running.entry(({ level }) => level === 'error'), { requestId: 'r-1', error: /secret detail/ });
  t.match(await running.entry(({ msg }) => msg === 'about to fail'), { requestId: 'r-1', level: 'info' });
});

t.test('a body over the limit is refused, and the connection goes on', async (t) => {
  const running = await start(t, 'export const handler = (event) => String(event?.length ?? 0);');
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  t.teardown(() => agent.destroy());
  const body = Buffer.alloc(32 * mebibyte + 1);
  const declared = await call(running, { body, agent });
  t.equal(declared.status, 413);
  t.equal(json(declared)['code'], 'body_too_large');
  const chunked = await call(running, { body, agent, headers: { 'transfer-encoding': 'chunked' } });
  t.equal(chunked.status, 413, 'without a declared length, too');
  const largest = await call(running, { body: body.subarray(1), agent });
  t.equal(largest.body.toString(), String(32 * mebibyte), 'exactly the limit is allowed');
});

t.test('a client that goes away aborts the signal of its request', async (t) => {
  const running = await start(
    t,
    `export const handler = (event, { signal }) => new Promise((resolve) => {
       console.log('waiting');
       signal.addEventListener('abort', () => { console.log('client gone'); resolve({}); });
     });`,
  );
  const request = httpRequest({ port: running.port, host: '127.0.0.1', agent: false }).end();
  request.on('error', () => undefined);
  await running.entry(({ msg }) => msg === 'waiting');
  request.destroy();
  t.ok(await running.entry(({ msg }) => msg === 'client gone'));
  t.notOk(
    running.entries.some(({ level }) => level === 'error'),
    'which is no error',
  );
});

t.test('a stream that nobody reads any more is closed', async (t) => {
  const running = await start(
    t,
    `import { Readable } from 'node:stream';
     export const handler = () => {
       const body = new Readable({ read() {} });
       body.push('first');
       body.once('close', () => console.log('source closed'));
       return { body };
     };`,
  );
  const request = httpRequest({ port: running.port, host: '127.0.0.1', agent: false }).end();
  request.on('error', () => undefined);
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  response.on('error', () => undefined);
  await once(response, 'data');
  request.destroy();
  t.ok(await running.entry(({ msg }) => msg === 'source closed'));
});

t.test('what the handler prints with console is an entry', async (t) => {
  const running = await start(
    t,
    `export const handler = () => {
       console.warn('%s is %d', 'one', 1, { a: 1 }); console.dir({ b: 2 }); console.table(['x']); console.trace('where');
     };`,
  );
  await call(running, { headers: { 'x-request-id': 'r-2' } });
  t.match(await running.entry(({ level }) => level === 'warn'), { msg: 'one is 1 { a: 1 }', requestId: 'r-2' });
  t.ok(await running.entry(({ msg }) => msg === '{ b: 2 }'));
  t.ok(await running.entry(({ msg }) => String(msg).startsWith('Trace: where')));
});

t.test('requests that run at the same time keep their own ids', async (t) => {
  const running = await start(
    t,
    `let release; const both = new Promise((resolve) => { release = resolve; }); let count = 0;
     export const handler = async (event, { requestId }) => {
       if (++count === 2) release();
       await both;
       console.log('for ' + requestId);
     };`,
  );
  await Promise.all(['a', 'b'].map((id) => call(running, { headers: { 'x-request-id': id } })));
  for (const id of ['a', 'b']) t.match(await running.entry(({ msg }) => msg === `for ${id}`), { requestId: id });
});

t.test('an exception that nothing caught ends the process with an entry; a rejection does not', async (t) => {
  const running = await start(
    t,
    `export const handler = (event, { path }) => {
       if (path === '/reject') { void Promise.reject(new Error('forgotten')); return 'ok'; }
       setImmediate(() => { throw new Error('from a callback'); });
       return new Promise(() => {});
     };`,
  );
  t.equal((await call(running, { path: '/reject' })).status, 200);
  t.match(await running.entry(({ error }) => String(error).includes('forgotten')), { level: 'error' });
  const exited = once(running.child, 'exit');
  await t.rejects(call(running));
  t.match(await running.entry(({ level }) => level === 'fatal'), { error: /from a callback/ });
  t.same(await exited, [1, null]);
});

t.test('code that does not load ends the process with its error, and nothing ever listens', async (t) => {
  const table: [string, RegExp][] = [
    ['export const handler = nothing.here;', /nothing is not defined/],
    ['export const x = 1;', /no function named/],
    ['export const handler = () => {\n  return (;\n};', /handler\.js:2\n {2}return \(;/],
    ["setInterval(() => {}, 1000); throw new Error('although a timer runs');", /although a timer runs/],
    ['await new Promise(() => {}); export const handler = () => {};', /waits for something that never comes/],
    ['process.exit(0);', /it ended/],
  ];
  for (const [code, reason] of table) {
    const folder = codeFolder(t, code);
    const child = spawn(process.execPath, [server], {
      env: { PORT: '0', SVC_CODE_FILE: join(folder, 'handler.js') },
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    t.teardown(() => child.kill('SIGKILL'));
    const said = buffer(child.stdout);
    const [exit] = (await once(child, 'exit')) as [number];
    t.equal(exit, 1, code);
    const lines = (await said).toString().trim().split('\n');
    const last = JSON.parse(lines.at(-1) ?? '') as Entry;
    t.match(last, { level: 'fatal', msg: /could not be loaded/ });
    t.match(`${String(last['msg'])}\n${String(last['error'])}`, reason, code);
    t.notMatch(lines.join('\n'), 'function ready');
  }
});

t.test('on SIGTERM what is under way is answered, what still comes is served, then the process ends', async (t) => {
  const running = await start(
    t,
    `export const handler = (event, { path }) => path === '/quick' ? 'quick' : new Promise((resolve) => {
       console.log('waiting');
       process.once('SIGTERM', () => console.log('asked to end'));
       process.once('SIGUSR2', () => resolve('done'));
     });`,
  );
  const agent = new Agent({ keepAlive: true });
  t.teardown(() => agent.destroy());
  const exited = once(running.child, 'exit');
  await call(running, { path: '/quick', agent });
  const answer = call(running, { agent });
  await running.entry(({ msg }) => msg === 'waiting');
  running.child.kill('SIGTERM');
  await running.entry(({ msg }) => msg === 'asked to end');
  const late = await call(running, { path: '/quick', agent });
  t.equal(late.body.toString(), 'quick');
  t.equal(late.headers.connection, 'close', 'and its client is asked to leave');
  running.child.kill('SIGUSR2');
  t.equal((await answer).body.toString(), 'done');
  t.same(await exited, [0, null], 'although a client keeps its connection');
});

/** Runs the code once as a batch Job would, to the end of the process. */
async function runOnce(t: TestFolder, code: string, env: Record<string, string> = {}) {
  const folder = codeFolder(t, code);
  const child = spawn(process.execPath, [server], {
    env: {
      ...{ SVC_CODE_FILE: join(folder, 'handler.js'), SVC_MODE: 'batch', SVC_TRIGGER: 'cron' },
      ...{ SVC_SCHEDULE: '*/5 * * * *', SVC_RUN: 'tick-29384750', ...env },
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  t.teardown(() => child.kill('SIGKILL'));
  const entries: Entry[] = [];
  const lines = createInterface({ input: child.stdout });
  lines.on('line', (line) => {
    const entry = JSON.parse(line) as Entry;
    entries.push(entry);
    if (entry['msg'] === 'end me') child.kill('SIGTERM');
  });
  const [[exit]] = await Promise.all([once(child, 'exit'), once(lines, 'close')]);
  return { exit: exit as number | null, entries, last: entries.at(-1) };
}

const tell =
  'export const handler = (event, { trigger, run }) => console.log(JSON.stringify({ event, trigger, run }));';
const told = ({ entries }: { entries: Entry[] }) =>
  JSON.parse(String(entries[0]?.['msg'])) as {
    event: { schedule: string; time: string };
    trigger: string;
    run: string;
  };

t.test('a batch run calls the handler once with the schedule and the time that was due, and ends with 0', async (t) => {
  const ran = await runOnce(t, `setInterval(() => {}, 1000);\n${tell}`);
  t.equal(ran.exit, 0, 'although a timer runs');
  t.same(told(ran), {
    event: { schedule: '*/5 * * * *', time: '2025-11-14T01:50:00.000Z' },
    ...{ trigger: 'cron', run: 'tick-29384750' },
  });
  t.equal(ran.entries.length, 2);
  t.match(ran.entries, [{ requestId: 'tick-29384750' }, { level: 'info', msg: 'run succeeded' }]);
});

t.test('a test run is due now', async (t) => {
  const before = Date.now();
  const ran = await runOnce(t, tell, { SVC_TRIGGER: 'test', SVC_RUN: 'tick-test-0000000001' });
  t.equal(ran.exit, 0);
  const { event, trigger } = told(ran);
  t.equal(trigger, 'test');
  t.ok(Date.parse(event.time) >= before && Date.parse(event.time) <= Date.now(), event.time);
});

t.test('a run that does not end well ends with 1, and the log says why', async (t) => {
  const table: [string, RegExp, RegExp][] = [
    ['export const handler = () => { throw new Error("boom"); };', /^the handler failed: boom$/, /handler\.js:1/],
    ['export const handler = async () => { await null; throw new Error("late"); };', /failed: late/, /handler\.js:1/],
    ['export const handler = () => new Promise(() => {});', /waits for something that never comes/, /undefined/],
    [
      'export const handler = () => { void Promise.reject(new Error("lost")); return new Promise(() => {}); };',
      /a rejection that nothing handled: lost/,
      /handler\.js:1/,
    ],
    ['export const handler = nothing.here;', /could not be loaded: nothing is not defined/, /handler\.js:1/],
    ['export const x = 1;', /no function named "handler"/, /TypeError/],
  ];
  for (const [code, message, stack] of table) {
    const { exit, last } = await runOnce(t, code);
    t.equal(exit, 1, code);
    t.match(last, { level: 'fatal', msg: message });
    t.match(String(last?.['error']), stack, code);
  }
});

t.test('on SIGTERM a run is told, and ends as its handler does', async (t) => {
  const ran = await runOnce(
    t,
    `export const handler = (event, { signal }) => new Promise((resolve) => {
       const timer = setInterval(() => {}, 1000);
       signal.addEventListener('abort', () => { clearInterval(timer); console.log('stopping'); resolve(); });
       console.log('end me');
     });`,
  );
  t.equal(ran.exit, 0);
  t.match(ran.entries, [{ msg: 'end me' }, { msg: 'stopping' }, { msg: 'run succeeded' }]);
});
