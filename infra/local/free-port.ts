import { once } from 'node:events';
import { createServer } from 'node:net';

/** Whether a port is free on all addresses, IPv4 and IPv6, since `localhost` may resolve to either. */
export async function isPortFree(port: number): Promise<boolean> {
  const server = createServer();
  try {
    server.listen({ port, exclusive: true });
    await once(server, 'listening');
    server.close();
    await once(server, 'close');
    return true;
  } catch {
    return false;
  }
}
