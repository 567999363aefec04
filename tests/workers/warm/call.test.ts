import { once } from 'node:events';
import { createServer } from 'node:http';
import { connect } from 'node:net';
import t from 'tap';
import { createWarmCall } from '../../../workers/warm/call.ts';
import { freePort } from '../../support/servers.ts';
import { waitingUid as uid } from '../../support/warm-pod.ts';

t.test('a pod whose program does not listen yet is started once it does', async (t) => {
  const port = await freePort();
  const called = createWarmCall({ port })({ host: '127.0.0.1', uid }, 'token', { env: {}, files: {}, drainSeconds: 1 });
  const [refused] = (await once(connect(port, '127.0.0.1'), 'error')) as [{ code?: string }];
  t.equal(refused.code, 'ECONNREFUSED');
  const requests: string[] = [];
  const server = createServer((request, response) => {
    requests.push(`${request.method} ${request.url}`);
    response.writeHead(request.url === '/start' ? 202 : 200).end(request.url === '/pod' ? uid : '');
  });
  t.teardown(() => server.close());
  server.listen(port, '127.0.0.1');
  await called;
  t.same(requests, ['GET /pod', 'POST /start']);
});
