import { Registry } from 'prom-client';
import t from 'tap';
import { systemClock } from '../../../../runtime/domain/clock.ts';
import { appObjects, createWorld, namespace } from './world.ts';

const labels = `namespace="${namespace}",kind="app",name="api"`;

t.test('requests that reach an app are counted by class of status, with their durations', async (t) => {
  const registry = new Registry();
  const world = await createWorld(t, { registry });
  await world.put(...appObjects());
  let status = 200;
  await world.serve('api', namespace, (_, response) => void response.writeHead(status).end('done'));
  await world.ask();
  await world.ask({ headers: { 'X-API-Key': 'svc_x' } });
  status = 503;
  await world.ask();
  await world.ask({ host: 'unknown.test' });
  // A response ends for the ingress after the client has it.
  const lines = async (): Promise<string> => {
    const text = await registry.metrics();
    if (/svc_request_duration_seconds_count\{[^}]*\} 3/.test(text)) return text;
    await systemClock.sleep(10);
    return lines();
  };
  const text = await lines();
  t.match(text, `svc_requests_total{${labels},code="2xx"} 2`);
  t.match(text, `svc_requests_total{${labels},code="5xx"} 1`);
  t.equal(text.match(/^svc_requests_total\{/gm)?.length, 2, 'an unknown host makes no series');
});

t.test('an app without pods has errors, and a deleted app no series', async (t) => {
  const registry = new Registry();
  const world = await createWorld(t, { registry });
  const objects = appObjects();
  await world.put(...objects);
  await world.ask();
  t.match(await registry.metrics(), new RegExp(`svc_requests_total\\{${labels},code="[45]xx"\\} 1`));
  const route = objects.find(({ kind }) => kind === 'IngressRoute');
  if (route) await world.remove(route);
  await world.ask();
  t.notMatch(await registry.metrics(), labels);
});

t.test('requests that the gate refuses do not reach the app', async (t) => {
  const registry = new Registry();
  const world = await createWorld(t, { registry });
  await world.put(...appObjects({ gated: true }));
  await world.serveEcho();
  await world.serveChecker((_, response) => void response.writeHead(401).end());
  t.equal((await world.ask()).status, 401);
  t.notMatch(await registry.metrics(), labels);
});
