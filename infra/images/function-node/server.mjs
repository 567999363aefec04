// The Node runtime of functions: loads the handler, then listens. A port that accepts connections therefore means that
// the code has loaded; code that does not load ends the process with its error in the log, and never answers.
import { AsyncLocalStorage } from 'node:async_hooks';
import { createServer } from 'node:http';
import { pathToFileURL } from 'node:url';
import { bindConsole, createLog } from './log.mjs';
import { answer, failure } from './answer.mjs';
import { readEvent } from './event.mjs';

const requests = new AsyncLocalStorage();
const log = createLog(() => requests.getStore()?.requestId);
bindConsole(log);

const codeFile = process.env.SVC_CODE_FILE ?? '/var/run/svc/code/handler.js';

async function loadHandler() {
  const loaded = await import(pathToFileURL(codeFile).href);
  const handler = loaded.handler ?? loaded.default?.handler ?? loaded.default;
  if (typeof handler !== 'function') throw new TypeError('the code exports no function named "handler"');
  return handler;
}

function requestIdOf(headers) {
  const given = headers['x-request-id'];
  return typeof given === 'string' && /^[\w.:-]{1,128}$/.test(given) ? given : crypto.randomUUID();
}

/** What the handler gets beside the event (spec: method, headers and path). */
function contextOf(request, requestId, signal) {
  const url = new URL(request.url ?? '/', 'http://function');
  return {
    method: request.method,
    path: url.pathname,
    query: Object.fromEntries(url.searchParams),
    headers: request.headers,
    requestId,
    signal,
  };
}

async function serve(handler, request, response) {
  const requestId = requestIdOf(request.headers);
  response.setHeader('x-request-id', requestId);
  const gone = new AbortController();
  response.once('close', () => {
    if (!response.writableFinished) gone.abort();
  });
  await requests.run({ requestId }, async () => {
    try {
      const event = await readEvent(request);
      const result = await handler(event, contextOf(request, requestId, gone.signal));
      await answer(response, result);
    } catch (error) {
      if (gone.signal.aborted) return;
      failure(response, error, requestId, log);
    }
  });
}

function listen(handler) {
  const server = createServer((request, response) => void serve(handler, request, response));
  // Longer than the proxy in front keeps a connection idle, so that it is never this side that closes under a request.
  server.keepAliveTimeout = 120_000;
  server.requestTimeout = 0;
  server.listen(Number(process.env.PORT ?? 8080), () => {
    log('info', 'function ready', { port: server.address().port });
  });
  process.once('SIGTERM', () => {
    server.close(() => process.exit(0));
    server.closeIdleConnections();
  });
}

process.on('unhandledRejection', (error) =>
  log('error', 'unhandled rejection', { error: String(error?.stack ?? error) }),
);

try {
  listen(await loadHandler());
} catch (error) {
  log('fatal', `the code could not be loaded: ${error?.message ?? error}`, { error: String(error?.stack ?? error) });
  process.exitCode = 1;
}
