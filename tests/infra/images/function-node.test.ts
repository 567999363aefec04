import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { request as httpRequest, type IncomingHttpHeaders, type IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { buffer } from 'node:stream/consumers';
import t from 'tap';

const server = join(import.meta.dirname, '../../../infra/images/function-node/server.mjs');

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
  options: { method?: string; path?: string; headers?: Record<string, string>; body?: string | Buffer } = {},
): Promise<Answer> {
  const request = httpRequest({
    ...{ port, host: '127.0.0.1', path: options.path ?? '/', method: options.method ?? 'POST' },
    ...{ headers: options.headers ?? {}, agent: false },
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
});

t.test('what the handler returns becomes the answer', async (t) => {
  const running = await start(
    t,
    `import { Readable } from 'node:stream';
     const results = {
       status: { statusCode: 418, headers: { 'x-a': 1, 'set-cookie': ['a=1', 'b=2'] }, body: 'tea' },
       bytes: { body: Buffer.from([1, 2]) },
       stream: { headers: { 'content-type': 'text/csv' }, body: Readable.from(['a,', 'b']) },
       object: { answer: 42 }, text: 'plain', nothing: undefined, empty: { statusCode: 204 },
       wrong: { statusCode: 42 },
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
  t.equal((await get('/nothing')).status, 204);
  t.equal((await get('/empty')).status, 204);
  t.equal((await get('/wrong')).status, 500);
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

t.test('a body over the limit is refused', async (t) => {
  const running = await start(t, echo);
  const answer = await call(running, { body: Buffer.alloc(33 * 1024 * 1024) }).catch((error: unknown) => error);
  // The runtime answers before it has read everything; a client that still writes may see the connection end instead.
  if (answer instanceof Error) t.match(String(answer), /ECONNRESET|EPIPE/);
  else t.equal((answer as Answer).status, 413);
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
});

t.test('code that does not load ends the process with its error, and nothing ever listens', async (t) => {
  for (const code of ['export const handler = nothing.here;', 'export const x = 1;', 'not javascript at all']) {
    const folder = codeFolder(t, code);
    const child = spawn(process.execPath, [server], {
      env: { PORT: '0', SVC_CODE_FILE: join(folder, 'handler.js') },
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    const said = buffer(child.stdout);
    const [exit] = (await once(child, 'exit')) as [number];
    t.equal(exit, 1);
    const last = JSON.parse((await said).toString().trim().split('\n').at(-1) ?? '') as Entry;
    t.match(last, { level: 'fatal', msg: /could not be loaded/ });
  }
});

t.test('on SIGTERM what is under way is answered, then the process ends', async (t) => {
  const running = await start(
    t,
    `export const handler = () => new Promise((resolve) => {
       console.log('waiting');
       process.once('SIGTERM', () => setImmediate(() => resolve('done')));
     });`,
  );
  const answer = call(running);
  await running.entry(({ msg }) => msg === 'waiting');
  running.child.kill('SIGTERM');
  t.equal((await answer).body.toString(), 'done');
  const [code] = running.child.exitCode === null ? ((await once(running.child, 'exit')) as [number]) : [0];
  t.equal(code, 0);
});
