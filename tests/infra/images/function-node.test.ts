// Behaviour of the Node runtime only; function-runtimes.test.ts tests what all runtimes share.
import { once } from 'node:events';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import t from 'tap';
import { callFunction, nodeRuntime, runFunction, startFunction } from '../../support/function-runtime.ts';

type TestFolder = Parameters<typeof startFunction>[0];

const call = callFunction;
const start = (t: TestFolder, code: string) => startFunction(t, nodeRuntime, code);

t.test('a body may be a stream of Node or of the web', async (t) => {
  const running = await start(
    t,
    `import { Readable } from 'node:stream';
     const results = {
       stream: { headers: { 'content-type': 'text/csv' }, body: Readable.from(['a,', 'b']) },
       web: { body: new Blob(['we', 'b']).stream() }, nothing: undefined,
     };
     export default (event, { path }) => results[path.slice(1)];`,
  );
  const stream = await call(running, { path: '/stream' });
  t.equal(stream.headers['content-type'], 'text/csv');
  t.equal(stream.body.toString(), 'a,b');
  t.equal((await call(running, { path: '/web' })).body.toString(), 'web');
  t.equal((await call(running, { path: '/nothing' })).status, 204);
});

t.test('CommonJS code works as well', async (t) => {
  const running = await start(t, 'exports.handler = async (event) => ({ body: String(event) });');
  const answer = await call(running, { headers: { 'content-type': 'text/plain' }, body: 'x' });
  t.equal(answer.body.toString(), 'x');
});

t.test('a stream is closed when its client disconnects', async (t) => {
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

t.test('console output of the handler is a log entry', async (t) => {
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

t.test('an uncaught exception ends the process with an entry; an unhandled rejection does not', async (t) => {
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

t.test('code that awaits an unresolved promise does not load, and its runs fail', async (t) => {
  const table: [string, Record<string, string> | undefined, RegExp][] = [
    [
      'await new Promise(() => {}); export const handler = () => {};',
      { PORT: '0' },
      /awaits a promise that nothing resolves/,
    ],
    ['export const handler = () => new Promise(() => {});', undefined, /awaits a promise that nothing resolves/],
    [
      'export const handler = () => { void Promise.reject(new Error("lost")); return new Promise(() => {}); };',
      undefined,
      /unhandled rejection: lost/,
    ],
  ];
  for (const [code, env, message] of table) {
    const { exit, last } = await runFunction(t, nodeRuntime, code, env);
    t.equal(exit, 1, code);
    t.match(last, { level: 'fatal', msg: message });
  }
});
