import { createServer, type Server } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import t, { type Test } from 'tap';
import type { KubeObject } from '../../../../runtime/contracts/kubernetes.ts';
import { startNode } from '../../../support/local-node.ts';
import { freePort } from '../../../support/servers.ts';

async function backend(t: Test, name: string): Promise<number> {
  const server: Server = createServer((_request, response) => response.end(name)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => server.close());
  return (server.address() as AddressInfo).port;
}

const slice = (name: string, port: number, ready = true, service = 'api'): KubeObject =>
  ({
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: { name, namespace: 'default', labels: { 'kubernetes.io/service-name': service } },
    addressType: 'IPv4',
    endpoints: [{ addresses: ['127.0.0.1'], conditions: { ready, serving: ready, terminating: false } }],
    ports: [{ name: 'http', port, protocol: 'TCP' }],
  }) as KubeObject;

const client = `
import { lookup } from 'node:dns/promises';
import { hostname } from 'node:os';
const said = [];
for (const name of process.argv[2].split(',')) {
  try {
    said.push(await (await fetch('http://' + name, { headers: { connection: 'close' } })).text());
  } catch (error) {
    said.push(error.cause?.code ?? String(error));
  }
}
console.log(said.join(' '), (await lookup('some.localhost')).address, hostname());
`;

t.test('pods reach a Service by its names, and its ready endpoints in turn', async (t) => {
  const { image, pod, until, log, kube } = await startNode(t);
  const port = await freePort();
  const clusterIP = `127.96.${process.pid % 250}.${1 + (port % 250)}`;
  kube.seed(
    slice('api-1', await backend(t, 'one')),
    slice('api-2', await backend(t, 'two')),
    slice('api-3', await backend(t, 'unready'), false),
    // Nothing listens there: it is passed over.
    slice('api-4', await freePort()),
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'api', namespace: 'default' },
      spec: { clusterIP, ports: [{ name: 'http', port, targetPort: 'http' }] },
    },
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'empty', namespace: 'default' },
      spec: { clusterIP: '127.96.255.254', ports: [{ port }] },
    },
  );
  await image('client:1', client);
  const names = ['api', 'api.default', 'api.default.svc', 'api.default.svc.cluster.local', 'empty', 'nobody.nowhere'];
  const run = async (name: string) => {
    const hosts = names.map((each) => `${each}:${port}`).join(',');
    await pod(name, {
      restartPolicy: 'Never',
      // The container's own options are kept.
      containers: [
        {
          name: 'main',
          image: 'client:1',
          args: [hosts],
          command: ['node', 'main.mjs'],
          env: [{ name: 'NODE_OPTIONS', value: '--no-warnings' }],
        },
      ],
    });
    return log(await until(name, ({ status }) => status?.phase === 'Succeeded'), 'main');
  };
  const answers = (await run('client')).trim().split(' ');
  t.same(new Set(answers.slice(0, 4)), new Set(['one', 'two']), 'both serve, the others do not');
  t.same(answers.slice(4), ['ECONNRESET', 'ENOTFOUND', '127.0.0.1', 'client']);

  await kube.delete({ apiVersion: 'v1', kind: 'Service', namespace: 'default', name: 'api' });
  const later = (await run('later')).trim().split(' ');
  t.same(new Set(later.slice(0, 4)), new Set(['ENOTFOUND']), 'the names go with the Service');
});

/** Prints where its connections lead; by port and host, by options, and as those do who take Node's client of HTTP. */
const dialler = `
import { once } from 'node:events';
import { get } from 'node:http';
import { connect, Socket } from 'node:net';
const port = Number(process.argv[2]);
const ported = async (socket) => {
  await once(socket, 'connect');
  const { remotePort } = socket;
  socket.destroy();
  return remotePort;
};
const answer = (await once(get({ host: 'api.default.svc', port }), 'response'))[0];
console.log(
  await ported(new Socket().connect(port, 'api')),
  await ported(connect({ host: 'api.default', port })),
  answer.socket.remotePort,
  await ported(connect(port, 'several')),
);
process.exit();
`;

t.test(
  'a Node program connects to the only pod of a Service itself, and through the node where there are more',
  async (t) => {
    const { image, pod, until, log, kube } = await startNode(t);
    const port = await freePort();
    const only = await backend(t, 'one');
    const service = (name: string, clusterIP: string) => ({
      ...{ apiVersion: 'v1', kind: 'Service', metadata: { name, namespace: 'default' } },
      spec: { clusterIP, ports: [{ name: 'http', port, targetPort: 'http' }] },
    });
    kube.seed(
      slice('api-1', only),
      slice('several-1', only, true, 'several'),
      slice('several-2', only, true, 'several'),
      service('api', `127.97.${process.pid % 250}.${1 + (port % 250)}`),
      service('several', `127.98.${process.pid % 250}.${1 + (port % 250)}`),
    );
    await image('dialler:1', dialler);
    const main = { name: 'main', image: 'dialler:1', command: ['node', 'main.mjs'], args: [String(port)] };
    await pod('dialler', { restartPolicy: 'Never', containers: [main] });
    const said = await log(await until('dialler', ({ status }) => status?.phase === 'Succeeded'), 'main');
    t.same(said.trim().split(' ').map(Number), [only, only, only, port]);
  },
);
