import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import t, { type Test } from 'tap';
import { listObjects, openObjectStore } from '../../runtime/services/object-store.ts';
import { textsOf, unescapeXml } from '../../runtime/services/xml.ts';
import { isSuperLinear } from '../support/growth.ts';

/** Whoever may register a service or an event source chooses the servers that the shared workers talk to. */
async function httpServer(t: Test, handler: RequestListener): Promise<number> {
  const server = createServer(handler).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    server.close();
    server.closeAllConnections();
  });
  return (server.address() as AddressInfo).port;
}

const filled = (pattern: string) => (size: number) => pattern.repeat(Math.ceil(size / pattern.length)).slice(0, size);

t.test('a listing is read in linear time, whatever it contains', (t) => {
  for (const pattern of ['<Contents>', '</Contents>', '<Contents><Key>', '<Contents></Contents>', '<<Contents>']) {
    t.notOk(
      isSuperLinear(filled(pattern), (xml) => textsOf(xml, 'Contents')),
      pattern,
    );
  }
  for (const pattern of ['&', '&#', '&#x', '&a', 'a', '&#x41;', '&lt'])
    t.notOk(isSuperLinear(filled(pattern), unescapeXml), pattern);
  t.equal(unescapeXml('&#xFFFFFFFF;&#x41;&#66;&amp;&no;'), '&#xFFFFFFFF;AB&&no;');
  t.end();
});

t.test('an object store that sends without end, whatever status it names, is told as the cause', async (t) => {
  for (const status of [200, 201, 206, 299, 404]) {
    const port = await httpServer(t, (_request, response) => {
      response.writeHead(status);
      const write = (): void => {
        if (!response.destroyed) response.write('<Contents>'.repeat(50_000), () => setImmediate(write));
      };
      write();
    });
    const keys = { accessKey: 'svc', secretKey: 'correct-horse' };
    const store = await openObjectStore({ host: '127.0.0.1', port, tls: false, ...keys });
    t.teardown(() => store.close());
    await t.rejects(listObjects(store, 'files').next(), {
      code: 'ResponseTooLarge',
      message: 'the store sent more than 4 MiB in one response',
    });
  }
});
