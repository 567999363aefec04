import { once } from 'node:events';
import { createServer } from 'node:net';

/** Whether one could listen at a port on every address: `localhost` may mean either family. */
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
