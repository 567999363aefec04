import { text as textOf } from 'node:stream/consumers';
import { functionView } from '../../runtime/contracts/api/functions.ts';
import { command } from '../command.ts';
import { scopeFlags } from '../common-flags.ts';
import { connectionFault, createConnections } from '../connection.ts';
import type { Context } from '../context.ts';
import { Failure, usageFailure } from '../failure.ts';
import { text, textOrNone, texts } from '../flags.ts';
import { readInputFile } from '../input-file.ts';
import { resolveScope } from '../scope.ts';
import { waitForRoute } from './function-route.ts';

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
    const body = flags.data === undefined ? undefined : await readData(context, flags.data);
    const method = (flags.method ?? (body === undefined ? 'GET' : 'POST')).toUpperCase();
    if (!methodShape.test(method))
      throw usageFailure(`--method takes an HTTP method such as PUT, not "${flags.method}".`);
    const headers = { ...(body !== undefined && { 'content-type': kindOf(body) }), ...parseHeaders(flags.header) };
    const scope = resolveScope(context, flags);
    const view = await scope.api.call('GET', scope.path('functions', args.function), functionView, {
      query: scope.query,
    });
    if (view.url === undefined) {
      throw new Failure(`Function "${args.function}" has no URL, since its trigger is ${view.trigger}.`, {
        code: 'invalid_value',
        hint: `svc function ${view.events ? 'events' : 'test'} ${args.function} ${scope.flags}`,
      });
    }
    const url = new URL(flags.path ?? '/', view.url);
    if (url.origin !== new URL(view.url).origin) throw usageFailure('--path takes a path, such as /items?page=2.');

    // No time limit here: the platform applies the function's own.
    const connections = createConnections(0);
    const { clock } = context;
    let startedAt = 0;
    const send = () => {
      startedAt = clock.monotonic();
      return connections.send(url, { method, headers, body });
    };
    try {
      let response = await send();
      // Every response of a function has this header. Without it, the request has not reached the function and can be repeated.
      const isUnrouted = () => response.statusCode === 404 && response.headers['x-svc-cold-start'] === undefined;
      if (isUnrouted()) {
        response.resume();
        await waitForRoute(context, view.url);
        response = await send();
      }
      const took = Math.round(clock.monotonic() - startedAt);
      const cold = response.headers['x-svc-cold-start'] === 'true' ? ', a cold start' : '';
      context.say(`${response.statusCode} after ${took} ms${cold}`);
      const { statusCode: status = 0, headers: fields } = response;
      if (flags.output === undefined) {
        for await (const chunk of response) context.stdout.write(chunk);
        if (context.stdout.isTTY) context.stdout.write('\n');
      } else {
        const content = await textOf(response);
        context.print({ data: { status, headers: fields, body: content }, table: content, names: [] }, flags.output);
      }
      if (status >= 400) {
        const denied = status === 401 && view.gate !== undefined && view.gate !== 'off';
        const hint = denied
          ? 'its gate takes API keys (svc key create): --header "X-API-Key: <key>"'
          : `svc function ${isUnrouted() ? 'show' : 'logs'} ${args.function} ${scope.flags}`;
        throw new Failure(`The answer is ${status}${isUnrouted() ? ', of the ingress' : ''}.`, {
          code: `http_${status}`,
          hint,
        });
      }
    } catch (error) {
      const fault = connectionFault(error);
      if (fault === undefined) throw error;
      throw new Failure(`${url.origin} is unreachable: ${fault}.`, { code: 'unreachable', cause: error });
    } finally {
      connections.close();
    }
  },
});

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
