import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import t from 'tap';
import { request } from 'undici';
import { loadAccess } from '../../../../infra/local/apiserver/access.ts';
import { bootstrapObjects } from '../../../../infra/local/bootstrap-objects.ts';
import { createThreadedIngress } from '../../../../infra/local/ingress/threaded.ts';
import type { KubeObject } from '../../../../runtime/contracts/kubernetes.ts';
import { systemClock } from '../../../../runtime/domain/clock.ts';
import { startApi } from '../../../support/local-api.ts';
import { appHost, appObjects, namespace, type Test } from './world.ts';

/** Sends requests to the ingress from another process, while this one's event loop is blocked. */
function askWhileBlocked(port: number): string {
  const program = `
    require('node:http').get({ host: '127.0.0.1', port: ${port}, headers: { host: '${appHost}' } }, (answer) => {
      answer.setEncoding('utf8').on('data', (text) => process.stdout.write(answer.statusCode + ' ' + text));
    });`;
  return spawnSync(process.execPath, ['-e', program], { encoding: 'utf8', timeout: 20_000 }).stdout.trim();
}

/** An API server with the kinds of routes, and an ingress beside it, by default at a free port. */
async function world(t: Test, port?: (api: URL) => number) {
  const { kube, server, dataDir, adminToken: token } = await startApi(t);
  for (const object of bootstrapObjects) await kube.create(object);
  const { certificate: ca } = loadAccess(join(dataDir, 'pki'), [], systemClock.now()).tls;
  const api = new URL(server.url);
  const ingress = createThreadedIngress({
    name: 'ingress',
    level: 'silent',
    apiServer: server.url,
    ca,
    token,
    port: port?.(api) ?? 0,
    host: api.hostname,
    entryPoints: ['web'],
  });
  return { kube, ingress };
}

t.test('the threaded ingress follows the API server, and does not wait for its own process', async (t) => {
  const { kube, ingress } = await world(t);
  await kube.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } });
  const port = await ingress.start();
  t.teardown(() => ingress.stop());
  t.equal(askWhileBlocked(port), '404 404 page not found', 'no host has a route yet');

  const service: KubeObject = {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'api', namespace },
    spec: { selector: { app: 'api' }, ports: [{ name: 'http', port: 80, targetPort: 8080 }] },
  };
  for (const object of [service, ...appObjects()]) await kube.create(object);
  const routeExists = async () => {
    const { statusCode, body } = await request(`http://127.0.0.1:${port}`, { headers: { host: appHost } });
    await body.dump();
    return statusCode === 503;
  };
  while (!(await routeExists())) await systemClock.sleep(20);
  t.equal(askWhileBlocked(port), '503 no available server', 'what was written since is served');

  await ingress.stop();
  t.equal(askWhileBlocked(port), '', 'the ingress has stopped');
});

t.test('a port in use is reported', async (t) => {
  const { ingress } = await world(t, (api) => Number(api.port));
  await t.rejects(ingress.start(), { code: 'EADDRINUSE' });
});
