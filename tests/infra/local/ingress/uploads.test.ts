import { once } from 'node:events';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import t from 'tap';
import type { Id } from '../../../../runtime/domain/ids.ts';
import { fakeClock, settle } from '../../../support/clock.ts';
import { appHost, appObjects, createWorld, namespace } from './world.ts';

t.test(
  'among many uploads, the pod gets the head of a further one first, and can refuse it without its body',
  async (t) => {
    const clock = fakeClock();
    const size = 256 * 1024;
    const bodies = new Map<string, number>();
    const held: unknown[] = [];
    const world = await createWorld(t, { clock });
    await world.serve('api', namespace, (request, response) => {
      const { url = '' } = request;
      request.on('error', () => undefined);
      if (url === '/hold') held.push(request);
      else if (url === '/refuse') request.socket.once('close', () => bodies.set(url, request.socket.bytesRead));
      if (url === '/refuse') response.writeHead(413).end('too large');
      if (url === '/stream') response.writeHead(200).flushHeaders();
      if (url !== '/stream' && url !== '/take') return;
      const read = async () => {
        let bytes = 0;
        for await (const chunk of request as AsyncIterable<Buffer>) bytes += chunk.length;
        response.end(String(bytes));
      };
      read().catch(() => undefined);
    });
    await world.put(...appObjects());
    const upload = (path: string, host = appHost) => {
      const request = httpRequest({
        port: world.port,
        host: '127.0.0.1',
        agent: false,
        method: 'POST',
        path,
        headers: { host, 'content-length': size },
      });
      request.on('error', () => undefined);
      request.write(Buffer.alloc(size - 1));
      t.teardown(() => request.destroy());
      return request;
    };
    const answerOf = async (request: ReturnType<typeof upload>) => {
      const [reply] = (await once(request, 'response')) as [IncomingMessage];
      return { status: reply.statusCode, body: await text(reply) };
    };
    for (let index = 0; index < 32; index++) upload('/hold');
    while (held.length < 32) await settle();

    await world.serve('other', namespace, (request, response) => {
      request.once('end', () => response.end('all')).resume();
    });
    const otherHost = 'other--shop-prod.apps.localhost';
    const id = '0190a0a0-0000-7000-8000-000000000002' as Id;
    await world.put(...appObjects({ id, name: 'other', hosts: [otherHost] }));
    const ofOther = upload('/', otherHost);
    ofOther.end(Buffer.alloc(1));
    t.same(await answerOf(ofOther), { status: 200, body: 'all' }, 'an upload to another Service does not wait');

    t.same(await answerOf(upload('/refuse')), { status: 413, body: 'too large' });
    while (!bodies.has('/refuse')) await settle();
    const bytes = bodies.get('/refuse') ?? size;
    t.ok(bytes < 2_048, `the pod got ${bytes} bytes`);

    const streamed = upload('/stream');
    streamed.end(Buffer.alloc(1));
    t.same(await answerOf(streamed), { status: 200, body: String(size) }, 'a pod that answers while it reads');

    const taken = upload('/take');
    taken.end(Buffer.alloc(1));
    const answer = answerOf(taken);
    const tick = () => clock.advance(1_000).then(() => undefined);
    while ((await Promise.race([answer, tick()])) === undefined);
    t.same(await answer, { status: 200, body: String(size) }, 'a pod that needs the body first');
  },
);
