import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

interface Teardown {
  teardown(end: () => unknown): void;
}

/** A request that a registry got. */
interface RegistryRequest {
  method: string;
  url: string;
  authorization: string | undefined;
}

export interface TestRegistry {
  /** `http://127.0.0.1:…` */
  address: string;
  /** Host and port. */
  host: string;
  requests: RegistryRequest[];
  /** Answers the next requests; default: 202. */
  answer: (request: IncomingMessage, response: ServerResponse) => void;
}

/** A registry on the loopback interface that answers every request in the same way. */
export async function testRegistry(t: Teardown): Promise<TestRegistry> {
  const requests: RegistryRequest[] = [];
  const server = createServer((request, response) => {
    const { method = '', url = '', headers } = request;
    requests.push({ method, url, authorization: headers.authorization });
    registry.answer(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const registry: TestRegistry = {
    address: `http://${host}`,
    host,
    requests,
    answer: (_, response) => response.writeHead(202).end(),
  };
  return registry;
}

/** The text of a Docker configuration file. */
export function registryFile(host: string, user = 'cleaner:secret'): string {
  return JSON.stringify({ auths: { [host]: { auth: Buffer.from(user).toString('base64') } } });
}
