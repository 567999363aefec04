import t from 'tap';
import { checkerHost } from '../../runtime/contracts/gate-denials.ts';
import { createWorld, helloFunction } from '../gate/interceptor/world.ts';

/** Attacks on what answers for the gate. */

t.test('an interceptor that stands in for checkers denies every request, and no function can answer', async (t) => {
  const world = createWorld(t, { replicas: 1 });
  const requests: string[] = [];
  await world.startPod((request, response) => {
    requests.push(request.url ?? '');
    response.writeHead(200, { 'X-Svc-Key-Prefix': 'abcdefgh' }).end();
  });
  // A function that has somehow got the checkers' host.
  const resource = helloFunction();
  world.functions.put({ ...resource, status: { ...resource.status, host: checkerHost } });
  const { port, registry, denials } = await world.startInterceptor();
  const questions: { method?: string; path?: string; headers?: Record<string, string> }[] = [
    {},
    { headers: { 'X-API-Key': 'svc_good' } },
    { headers: { 'X-Forwarded-Method': 'OPTIONS', 'Access-Control-Request-Method': 'GET' } },
    { method: 'OPTIONS', headers: { 'Access-Control-Request-Method': 'GET' } },
    { method: 'POST' },
    { path: '/' },
    { path: '/health' },
    { path: '/.well-known/svc-gate-probe' },
  ];
  for (const { headers, ...question } of questions) {
    const init = { path: '/authorize?app=x', ...question, headers: { host: checkerHost, ...headers } };
    const { status, headers: fields, body } = await world.ask(port, init);
    t.equal(status, 503);
    const { code, message } = JSON.parse(body) as { code: string; message: string };
    t.equal(code, 'gate_unavailable');
    t.match(message, 'svc-authz');
    t.match(fields, {
      'content-type': 'application/json',
      'cache-control': 'no-store',
      'access-control-allow-origin': '*',
      'access-control-expose-headers': /Retry-After/,
      'retry-after': '10',
      connection: 'close',
    });
  }
  t.same(requests, []);
  t.equal(denials.length, questions.length, 'denials are always logged');
  t.match(denials, [{ reason: 'unavailable', fault: 'no_checker', clientIp: '127.0.0.1' }]);
  const counted = await registry.getSingleMetric('interceptor_requests_total')?.get();
  t.match(counted?.values, [{ labels: { result: 'gate_unavailable' }, value: questions.length }]);
});
