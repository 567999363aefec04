import type { IncomingMessage } from 'node:http';
import { text as textOf } from 'node:stream/consumers';
import type { FunctionView } from '../../runtime/contracts/api/functions.ts';
import { command } from '../command.ts';
import { scopeFlags } from '../common-flags.ts';
import { connectionFault, createConnections, type Connections, type Outgoing } from '../connection.ts';
import type { Context } from '../context.ts';
import { exitCodes, Failure, usageFailure } from '../failure.ts';
import { text, textOrNone, texts } from '../flags.ts';
import { readInputFile } from '../input-file.ts';
import type { OutputFormat } from '../output.ts';
import { resolveScope } from '../scope.ts';
import { functionKind } from './function-kind.ts';
import { waitForRoute } from './function-route.ts';

const coldStartHeader = 'x-svc-cold-start';
const methodShape = /^[A-Z]{1,20}$/;
const headerShape = /^([\w!#$%&'*+.^`|~-]+):\s*(.*)$/;

export const invokeCommand = command({
  name: 'invoke',
  args: ['function'],
  description: 'Send a request to a function and print the response.',
  flags: {
    data: textOrNone('<data>', 'request body; @<file> for a file, - for standard input'),
    method: text('<method>', 'HTTP method (default GET; POST with --data)'),
    path: text('<path>', 'path and query (default /)'),
    header: texts('<name: value>', 'request header (default content-type: JSON or text, by --data)'),
    ...scopeFlags,
  },
  examples: [
    'svc function invoke hello',
    `svc function invoke hello --data '{"name": "Ada"}'`,
    'svc function invoke hello --method PUT --path "/items/7?dry=1" --data @item.json --header "x-trace: 1"',
  ],
  async run({ context, args, flags }) {
    const request = await requestOf(context, flags);
    const scope = resolveScope(context, flags);
    const view = await functionKind.read(scope, args.function);
    if (view.url === undefined) {
      throw new Failure(`Function "${args.function}" has no URL, since its trigger is ${view.trigger}.`, {
        code: 'invalid_value',
        exitCode: exitCodes.usage,
        hint: `svc function ${view.events ? 'events' : 'test'} ${args.function} ${scope.flags}`,
      });
    }
    const url = new URL(flags.path ?? '/', view.url);
    if (url.origin !== new URL(view.url).origin) throw usageFailure('--path takes a path, such as /items?page=2.');

    // No time limit here: the platform applies the function's own.
    const connections = createConnections(0);
    try {
      const response = await sendRouted(context, connections, url, request);
      await printResponse(context, response, flags.output);
      const { statusCode = 0 } = response;
      // The function's status says why its pods do not start; the answer may not, because anyone can get it.
      const latest = statusCode >= 500 ? await functionKind.read(scope, args.function) : view;
      if (statusCode >= 400) throw responseFailure(response, latest, scope.flags);
    } catch (error) {
      const fault = connectionFault(error);
      if (fault === undefined) throw error;
      throw new Failure(`${url.origin} is unreachable: ${fault}.`, { code: 'unreachable', cause: error });
    } finally {
      connections.close();
    }
  },
});

interface RequestFlags {
  data: string | undefined;
  method: string | undefined;
  header: readonly string[];
}

/** The request that the flags describe. @throws Failure (usage) */
async function requestOf(context: Context, { data, method: requested, header }: RequestFlags): Promise<Outgoing> {
  const body = data === undefined ? undefined : await readData(context, data);
  const method = (requested ?? (body === undefined ? 'GET' : 'POST')).toUpperCase();
  if (!methodShape.test(method)) throw usageFailure(`--method takes an HTTP method such as PUT, not "${requested}".`);
  const headers = { ...(body !== undefined && { 'content-type': kindOf(body) }), ...parseHeaders(header) };
  return { method, headers, body };
}

/** Sends a request, again if the ingress does not route the function yet, and prints how long the response took. */
async function sendRouted(
  context: Context,
  connections: Connections,
  url: URL,
  request: Outgoing,
): Promise<IncomingMessage> {
  const { clock } = context;
  let startedAt = clock.monotonic();
  let response = await connections.send(url, request);
  if (isUnrouted(response)) {
    response.resume();
    await waitForRoute(context, url.origin);
    startedAt = clock.monotonic();
    response = await connections.send(url, request);
  }
  const took = Math.round(clock.monotonic() - startedAt);
  const cold = response.headers[coldStartHeader] === 'true' ? ', a cold start' : '';
  context.say(`${response.statusCode} after ${took} ms${cold}`);
  return response;
}

/**
 * Whether the ingress itself responded. Every response of a function has the header; without it, the request has not
 * reached the function and can be repeated.
 */
function isUnrouted({ statusCode, headers }: IncomingMessage): boolean {
  return statusCode === 404 && headers[coldStartHeader] === undefined;
}

/** Without an output format, the body is printed as it arrives. */
async function printResponse(
  context: Context,
  response: IncomingMessage,
  output: OutputFormat | undefined,
): Promise<void> {
  if (output === undefined) {
    for await (const chunk of response) context.stdout.write(chunk);
    if (context.stdout.isTTY) context.stdout.write('\n');
    return;
  }
  const { statusCode: status = 0, headers } = response;
  const body = await textOf(response);
  context.print({ data: { status, headers, body }, table: body, names: [] }, output);
}

/** The failure of the command for a response with an error status. */
function responseFailure(
  response: IncomingMessage,
  { name, gate, status: state, message }: FunctionView,
  scopeFlagsText: string,
): Failure {
  const { statusCode: status = 0 } = response;
  if (status >= 500 && state === 'failed' && message !== undefined) {
    const hint = `svc function logs ${name} ${scopeFlagsText}`;
    return new Failure(`The answer is ${status}. Function "${name}" failed: ${message}`, {
      code: `http_${status}`,
      hint,
    });
  }
  const unrouted = isUnrouted(response);
  const denied = status === 401 && gate !== undefined && gate !== 'off';
  const hint = denied
    ? 'its gate takes API keys (svc key create): --header "X-API-Key: <key>"'
    : `svc function ${unrouted ? 'show' : 'logs'} ${name} ${scopeFlagsText}`;
  return new Failure(`The answer is ${status}${unrouted ? ', of the ingress' : ''}.`, { code: `http_${status}`, hint });
}

async function readData(context: Context, data: string): Promise<string> {
  if (data === '-') return textOf(context.stdin);
  return data.startsWith('@') ? readInputFile(data.slice(1)).toString() : data;
}

function kindOf(body: string): string {
  try {
    JSON.parse(body);
    return 'application/json';
  } catch {
    return 'text/plain; charset=utf-8';
  }
}

/** @throws Failure (usage) */
function parseHeaders(headers: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    headers.map((header) => {
      const [, name, value] = headerShape.exec(header) ?? [];
      if (name === undefined || value === undefined) {
        throw usageFailure(`--header takes "<name>: <value>", not "${header}".`);
      }
      return [name.toLowerCase(), value];
    }),
  );
}
