// The Node runtime of functions: loads the handler, then listens, or runs it once. A port that accepts connections therefore
// means that the code has loaded. If the code cannot be loaded, the process logs the error and exits.
import { answer, failure } from './answer.mjs';
import { contextOf, discardRest, readEvent, requestIdOf } from './event.mjs';
import { loadHandler } from './handler.mjs';
import { bindConsole, createLog } from './log.mjs';
import { drainOnSignal } from './drain.mjs';

// `import` would evaluate every export, including undici, and double the startup time.
const { createServer } = process.getBuiltinModule('node:http');
const { AsyncLocalStorage } = process.getBuiltinModule('node:async_hooks');

const requests = new AsyncLocalStorage();
const log = createLog(() => requests.getStore()?.requestId);
bindConsole(log);

function die(message, error) {
  log('fatal', message, error === undefined ? {} : { error: String(error?.stack ?? error) });
  process.exit(1);
}

let loaded = false;
// An exception outside a request may leave an inconsistent state, so a new process replaces this one.
process.on('uncaughtException', (error) => die(`uncaught exception: ${error?.message ?? error}`, error));
process.on('unhandledRejection', (error) => {
  const message = `unhandled rejection: ${error?.message ?? error}`;
  // Other requests continue. In a run there are none.
  if (process.env.SVC_MODE === 'batch') die(message, error);
  log('error', message, { error: String(error?.stack ?? error) });
});
process.on('exit', () => {
  if (loaded || process.exitCode === 1) return;
  log('fatal', 'the code could not be loaded: it exited, or awaits a promise that nothing resolves');
  process.exitCode = 1;
});

async function serve(handler, request, response) {
  const requestId = requestIdOf(request.headers);
  response.setHeader('x-request-id', requestId);
  const disconnected = new AbortController();
  response.once('close', () => {
    if (!response.writableFinished) disconnected.abort();
  });
  await requests.run({ requestId }, async () => {
    try {
      const event = await readEvent(request);
      const result = await handler(event, contextOf(request, requestId, disconnected.signal));
      await answer(response, result, disconnected.signal);
    } catch (error) {
      if (disconnected.signal.aborted || request.socket.destroyed) return;
      failure(response, error, requestId, log);
      discardRest(request);
    }
  });
}

function listen(handler) {
  const server = createServer((request, response) => void serve(handler, request, response));
  // Longer than the interceptor keeps idle connections, so that this side never closes one that a request is using.
  server.keepAliveTimeout = 120_000;
  server.requestTimeout = 0;
  // The program warm.mjs passes another limit than the default.
  drainOnSignal(server, log, process.argv[2] && Number(process.argv[2]));
  server.listen(Number(process.env.PORT ?? 8080), () => {
    loaded = true;
    log('info', 'function ready', { port: server.address().port, runtime: `node ${process.versions.node}` });
  });
}

async function runBatch(handler) {
  loaded = true;
  // Loaded for runs only, to keep cold starts short.
  const { runOnce } = await import('./batch.mjs');
  await runOnce(handler, {
    env: process.env,
    log,
    die,
    inRequest: (run, call) => requests.run({ requestId: run }, call),
  });
}

try {
  const codeFile = process.env.SVC_CODE_FILE ?? '/var/run/svc/code/handler.js';
  if (process.env.SVC_DEPENDENCIES) {
    const { findPackagesIn } = await import('./dependencies.mjs');
    findPackagesIn(process.env.SVC_DEPENDENCIES, codeFile);
  }
  const handler = await loadHandler(codeFile);
  if (process.env.SVC_MODE === 'batch') await runBatch(handler);
  else listen(handler);
} catch (error) {
  // Timers and connections that the code has opened would keep the process alive.
  die(`the code could not be loaded: ${error?.message ?? error}`, error);
}
