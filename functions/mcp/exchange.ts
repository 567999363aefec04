import type { IncomingHttpHeaders } from 'node:http';
import {
  createMcpHandler,
  isLegacyRequest,
  Server,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server';
import { mcpInstructions, mcpPath, type McpMessage, type McpReply } from '../../runtime/contracts/api/mcp.ts';
import type { ToolResult, ToolView } from '../../runtime/assistant/tools.ts';

/** What a server of one request offers. */
export interface McpTools {
  version: string;
  list: () => ToolView[];
  call: (name: string, args: unknown) => Promise<ToolResult>;
}

interface McpRequest {
  message: McpMessage;
  headers: Readonly<IncomingHttpHeaders>;
  signal: AbortSignal;
  /** The public address of the management API. */
  baseUrl: string;
}

/** A server asks its client nothing, so it validates no answers. */
const noValidator = {
  getValidator: () => {
    throw new Error('the server asks its client nothing');
  },
};

/**
 * Answers one message with a server of its own, so that nothing is kept between requests. Clients of the protocol from
 * 2026 on describe themselves in every message; older ones begin with `initialize`, which changes nothing here.
 */
export async function exchange(
  { message, headers, signal, baseUrl }: McpRequest,
  tools: McpTools,
): Promise<{ status: 200 | 202 | 400 | 404; body?: McpReply }> {
  // The only request whose response is a stream. The tools of a caller change with its role, which it can ask for.
  if (message.method === 'subscriptions/listen') {
    return { status: 404, body: errorReply(message, -32_601, 'There are no subscriptions.') };
  }
  const request = new Request(baseUrl + mcpPath, { method: 'POST', headers: protocolHeaders(headers), signal });
  const server = serverOf(tools);
  try {
    const response = (await isLegacyRequest(request, message))
      ? await answerOlder(server, request, message)
      : await createMcpHandler(() => server, { legacy: 'reject' }).fetch(request, { parsedBody: message });
    const text = await response.text();
    if (text === '') return { status: 202 };
    const { status } = response;
    return { status: status === 200 || status === 404 ? status : 400, body: JSON.parse(text) as McpReply };
  } finally {
    await server.close();
  }
}

async function answerOlder(server: Server, request: Request, message: McpMessage): Promise<Response> {
  const transport = new WebStandardStreamableHTTPServerTransport({
    sessionIdGenerator: undefined,
    enableJsonResponse: true,
  });
  await server.connect(transport);
  return transport.handleRequest(request, { parsedBody: message });
}

/** The headers of the protocol. The body is JSON and so is the reply, whatever else the client accepts. */
function protocolHeaders(headers: Readonly<IncomingHttpHeaders>): Record<string, string> {
  const own = Object.entries(headers).filter(
    (entry): entry is [string, string] => entry[0].startsWith('mcp-') && typeof entry[1] === 'string',
  );
  return {
    ...Object.fromEntries(own),
    accept: 'application/json, text/event-stream',
    'content-type': 'application/json',
  };
}

function serverOf({ version, list, call }: McpTools): Server {
  const server = new Server(
    { name: 'svc', version },
    { capabilities: { tools: {} }, instructions: mcpInstructions, jsonSchemaValidator: noValidator },
  );
  server.setRequestHandler('tools/list', () => ({ tools: list().map(toolOf) }));
  server.setRequestHandler('tools/call', async ({ params }) => {
    const { text, isError } = await call(params.name, params.arguments ?? {});
    return { content: [{ type: 'text', text }], isError };
  });
  return server;
}

function toolOf({ name, description, inputSchema, readOnly }: ToolView) {
  return {
    name,
    description,
    inputSchema: { ...inputSchema, type: 'object' as const },
    annotations: { readOnlyHint: readOnly, openWorldHint: false },
  };
}

function errorReply({ id }: McpMessage, code: number, text: string): McpReply {
  return { jsonrpc: '2.0', ...(id !== undefined && { id }), error: { code, message: text } };
}
