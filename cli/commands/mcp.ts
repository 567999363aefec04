import { once } from 'node:events';
import {
  ProtocolError,
  ProtocolErrorCode,
  Server,
  type CallToolResult,
  type ListToolsResult,
} from '@modelcontextprotocol/server';
import { serveStdio, StdioServerTransport } from '@modelcontextprotocol/server/stdio';
import { mcpInstructions, mcpPath, mcpReply } from '../../runtime/contracts/api/mcp.ts';
import { sessionView } from '../../runtime/contracts/api/sessions.ts';
import type { ApiClient } from '../client.ts';
import type { Context } from '../context.ts';
import { Failure } from '../failure.ts';

/**
 * Runs `svc mcp` until standard input ends. The platform has the tools: their lists and calls are passed on to `/mcp` of
 * the management API, which redacts secrets that only it knows.
 */
export async function serveTools(context: Context, flags: { api: string | undefined }): Promise<void> {
  const api = context.api(flags);
  // A wrong address or token is a failure of the command, which the editor shows, and not of each call.
  const { email, token } = await api.call('GET', '/session', sessionView);
  const identity = token ? `the access token ${token.name} of the project ${token.project}` : email;
  context.say(`serving the tools of ${context.address(flags)} for ${identity}`);
  const input = context.stdin;
  const ended = Promise.race([once(input, 'end'), once(input, 'close')]);
  const handle = serveStdio(() => createServer(api, context.version), {
    transport: new StdioServerTransport(input, context.stdout),
  });
  await ended;
  await handle.close();
}

function createServer(api: ApiClient, version: string): Server {
  const server = new Server({ name: 'svc', version }, { capabilities: { tools: {} }, instructions: mcpInstructions });
  server.setRequestHandler('tools/list', async () => (await passOn(api, 'tools/list')) as ListToolsResult);
  server.setRequestHandler(
    'tools/call',
    async ({ params: { name, arguments: args = {} } }) =>
      (await passOn(api, 'tools/call', { name, arguments: args })) as CallToolResult,
  );
  return server;
}

/** The result of a request to the platform. @throws ProtocolError with the message of a failure */
async function passOn(api: ApiClient, method: string, params: object = {}): Promise<object> {
  try {
    const { result, error } = await api.post(mcpPath, mcpReply, { jsonrpc: '2.0', id: 1, method, params });
    if (result) return result;
    throw new ProtocolError(
      error?.code ?? ProtocolErrorCode.InternalError,
      error?.message ?? 'The platform sent no result.',
    );
  } catch (error) {
    if (error instanceof Failure) throw new ProtocolError(ProtocolErrorCode.InternalError, error.message);
    throw error;
  }
}
