import { text as textOf } from 'node:stream/consumers';
import { functionView } from '../../runtime/contracts/api/functions.ts';
import { command } from '../command.ts';
import { scopeFlags } from '../common-flags.ts';
import { connectionFault, createConnections } from '../connection.ts';
import type { Context } from '../context.ts';
import { Failure, usageFailure } from '../failure.ts';
import { text, textOrNone, texts } from '../flags.ts';
import { readGivenFile } from '../given-file.ts';
import { placeOf } from '../place.ts';
import { untilRouted } from './function-route.ts';

const methodShape = /^[A-Z]{1,20}$/;
const headerShape = /^([\w!#$%&'*+.^`|~-]+):\s*(.*)$/;

export const invokeCommand = command({
  name: 'invoke',
  args: ['function'],
  description: "Send a request to a function's URL: its answer goes to stdout, its status and time to stderr.",
  flags: {
    data: textOrNone('<data>', 'body; @<file> reads it from a file, - from standard input'),
    method: text('<method>', 'default GET, with --data POST'),
    path: text('<path>', 'path and query (default /)'),
    header: texts('<name: value>', 'header, such as a content type (default JSON or text, as --data is)'),
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
    if (!methodShape.test(method)) throw usageFailure(`--method takes a method such as PUT; not "${flags.method}".`);
    const headers = { ...(body !== undefined && { 'content-type': kindOf(body) }), ...parseHeaders(flags.header) };
    const place = placeOf(context, flags);
    const found = await place.api.call('GET', place.path('functions', args.function), functionView, {
      query: place.query,
    });
    if (found.url === undefined) {
      throw new Failure(`Function "${args.function}" has the trigger ${found.trigger}, and no URL.`, {
        code: 'invalid_value',
        hint: `svc function ${found.events ? 'events' : 'test'} ${args.function} ${place.flags}`,
      });
    }
    const url = new URL(flags.path ?? '/', found.url);
    if (url.origin !== new URL(found.url).origin) throw usageFailure('--path takes a path, such as /items?page=2.');

    // The platform says when a function takes too long, and how long that may be is the function's own setting.
    const connections = createConnections(0);
    const { clock } = context;
    let begun = 0;
    const send = () => {
      begun = clock.monotonic();
      return connections.send(url, { method, headers, body });
    };
    try {
      let answer = await send();
      // Whatever a function answers says whether its start was cold: this request has not reached it, and can be sent again.
      const isUnrouted = () => answer.statusCode === 404 && answer.headers['x-svc-cold-start'] === undefined;
      if (isUnrouted()) {
        answer.resume();
        await untilRouted(context, found.url);
        answer = await send();
      }
      const took = Math.round(clock.monotonic() - begun);
      const cold = answer.headers['x-svc-cold-start'] === 'true' ? ', a cold start' : '';
      context.say(`${answer.statusCode} after ${took} ms${cold}`);
      const { statusCode: status = 0, headers: fields } = answer;
      if (flags.output === undefined) {
        for await (const chunk of answer) context.stdout.write(chunk);
        if (context.stdout.isTTY) context.stdout.write('\n');
      } else {
        const content = await textOf(answer);
        context.print({ data: { status, headers: fields, body: content }, table: content, names: [] }, flags.output);
      }
      if (status >= 400) {
        const denied = status === 401 && found.gate !== undefined && found.gate !== 'off';
        const hint = denied
          ? 'its gate takes API keys (svc key create): --header "X-API-Key: <key>"'
          : `svc function ${isUnrouted() ? 'show' : 'logs'} ${args.function} ${place.flags}`;
        throw new Failure(`The answer is ${status}${isUnrouted() ? ', of the ingress' : ''}.`, {
          code: `http_${status}`,
          hint,
        });
      }
    } catch (error) {
      const fault = connectionFault(error);
      if (fault === undefined) throw error;
      throw new Failure(`${url.origin} cannot be reached: ${fault}.`, { code: 'unreachable', cause: error });
    } finally {
      connections.close();
    }
  },
});

async function readData(context: Context, data: string): Promise<string> {
  if (data === '-') return textOf(context.stdin);
  return data.startsWith('@') ? readGivenFile(data.slice(1)).toString() : data;
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
function parseHeaders(given: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    given.map((header) => {
      const [, name, value] = headerShape.exec(header) ?? [];
      if (name === undefined || value === undefined) {
        throw usageFailure(`--header takes "<name>: <value>"; not "${header}".`);
      }
      return [name.toLowerCase(), value];
    }),
  );
}
