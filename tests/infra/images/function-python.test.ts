// Behaviour of the Python runtime only; function-runtimes.test.ts tests what all runtimes share.
import t from 'tap';
import {
  callFunction,
  json,
  missing,
  pythonRuntime,
  runFunction,
  startFunction,
} from '../../support/function-runtime.ts';

const skip = missing(pythonRuntime);
const options = skip === undefined ? {} : { skip };

t.test('printed and logged lines are log entries, from any thread or library', options, async (t) => {
  const running = await startFunction(
    t,
    pythonRuntime,
    `
import logging, sys, threading, warnings
def broken():
    raise ValueError('in a thread')
def handler(event, context=None):
    print('one', 1)
    print('two\\nlines')
    print('to stderr', file=sys.stderr)
    logging.getLogger('shop').info('%s sold', 3)
    try:
        raise KeyError('lost')
    except KeyError:
        logging.exception('failed')
    thread = threading.Thread(target=broken)
    thread.start()
    thread.join()`,
  );
  t.equal((await callFunction(running, { headers: { 'x-request-id': 'r-1' } })).status, 204);
  t.match(await running.entry(({ msg }) => msg === 'one 1'), { level: 'info', requestId: 'r-1' });
  t.ok(await running.entry(({ msg }) => msg === 'two\nlines'));
  t.match(await running.entry(({ msg }) => msg === 'to stderr'), { level: 'warn', requestId: 'r-1' });
  t.match(await running.entry(({ msg }) => msg === '3 sold'), { level: 'info', logger: 'shop', requestId: 'r-1' });
  t.match(await running.entry(({ msg }) => msg === 'failed'), { level: 'error', error: /KeyError: 'lost'/ });
  t.match(await running.entry(({ msg }) => msg === 'a thread failed: in a thread'), { level: 'error' });
});

t.test('asynchronous handlers share one event loop, and their generators are streams', options, async (t) => {
  const running = await startFunction(
    t,
    pythonRuntime,
    `
import asyncio
both = None
async def parts():
    for part in ('a', b'b'):
        await asyncio.sleep(0)
        yield part
async def handler(event, context):
    global both
    if context.path == '/stream':
        return {'body': parts()}
    both = both or asyncio.Event()
    if context.path == '/wait':
        print('waiting')
        await both.wait()
        print('set')
    both.set()`,
  );
  const waiting = callFunction(running, { path: '/wait', headers: { 'x-request-id': 'r-2' } });
  await running.entry(({ msg }) => msg === 'waiting');
  await callFunction(running);
  t.equal((await waiting).status, 204);
  t.match(await running.entry(({ msg }) => msg === 'set'), { requestId: 'r-2' });
  t.equal((await callFunction(running, { path: '/stream' })).body.toString(), 'ab');
});

t.test('a body may be an open file, and a stream may have a content-length', options, async (t) => {
  const running = await startFunction(
    t,
    pythonRuntime,
    `
import io
def handler(event, context):
    if context.path == '/file':
        return {'body': open(__file__)}
    if context.path == '/bytes':
        return {'body': io.BytesIO(b'x' * 100000)}
    return {'headers': {'Content-Length': '4'}, 'body': iter(['abcd' if context.path == '/right' else 'abc'])}`,
  );
  t.match((await callFunction(running, { path: '/file' })).body.toString(), /^\nimport io\n/);
  t.equal((await callFunction(running, { path: '/bytes' })).body.length, 100_000);
  t.match(await callFunction(running, { path: '/right' }), { status: 200, headers: { 'content-length': '4' } });
  await t.rejects(callFunction(running, { path: '/short' }), { code: 'ECONNRESET' });
});

t.test('a connection error of the handler is a failure of the handler', options, async (t) => {
  const running = await startFunction(
    t,
    pythonRuntime,
    `
def handler(event, context):
    if context.path == '/attribute':
        return context.nonsense
    raise ConnectionRefusedError('the database is gone')`,
  );
  const answer = await callFunction(running);
  t.equal(answer.status, 500);
  t.match(json(answer), { code: 'function_error' });
  t.equal((await callFunction(running, { path: '/attribute' })).status, 500);
  t.ok(await running.entry(({ error }) => String(error).includes("the context has no 'nonsense'")));
});

t.test('exit handlers of the code run', options, async (t) => {
  const { exit, entries } = await runFunction(
    t,
    pythonRuntime,
    "import atexit\natexit.register(lambda: print('bye'))\ndef handler(event, context): pass",
  );
  t.equal(exit, 0);
  t.equal(entries.at(-1)?.['msg'], 'bye');
});
