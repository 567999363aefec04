import { mcpMessage, mcpPath, mcpReply } from '../../runtime/contracts/api/mcp.ts';
import { Problem } from '../../runtime/domain/problem.ts';
import { route, sessionOf, type Route, type RouteReply } from '../../runtime/http/route.ts';
import type { Tools } from '../../runtime/assistant/tools.ts';

export interface McpDependencies {
  tools: Tools;
  version: string;
  /** The public address of the management API: the only origin whose pages may call it. */
  baseUrl: string;
}

/** `/mcp`: the tools for other agents, by the Model Context Protocol over HTTP without sessions (decision 0077). */
export function createMcpRoutes({ tools, version, baseUrl }: McpDependencies): Route[] {
  return [
    route({
      method: 'POST',
      path: mcpPath,
      access: 'bearer',
      tag: 'mcp',
      summary: 'Takes one message of the Model Context Protocol (MCP), such as a list of the tools or a call of one.',
      audit: 'tool.call',
      body: mcpMessage,
      replies: { 200: mcpReply, 202: null, 400: mcpReply, 404: mcpReply },
      async handle(request) {
        const { body, headers, clientAddress, requestId, log, signal } = request;
        checkOrigin(headers['origin'], baseUrl);
        const session = sessionOf(request);
        const caller = { session, clientAddress, requestId, log, signal };
        let audit: RouteReply['audit'] = false;
        // Loaded by the first call: most installations have no agents, and it takes some memory.
        const { exchange } = await import('./exchange.ts');
        const reply = await exchange(
          { message: body, headers, signal, baseUrl },
          {
            version,
            list: () => tools.list(session),
            async call(name, args) {
              const result = await tools.call(caller, name, args);
              ({ audit } = result);
              return result;
            },
          },
        );
        return { ...reply, audit };
      },
    }),
  ];
}

/**
 * Refuses pages of other origins, also of a host name that leads to the API's address for a moment (DNS rebinding).
 * Programs send no `Origin`. @throws Problem `cross_site`
 */
function checkOrigin(origin: string | string[] | undefined, baseUrl: string): void {
  if (origin === undefined || origin === new URL(baseUrl).origin) return;
  throw new Problem('cross_site', 'A page of another site sent this request. Call /mcp from a program.');
}
