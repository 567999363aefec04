import { createServer, type Server } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import t, { type Test } from 'tap';
import { translateName } from '../../../../infra/local/node/names.ts';
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

const pythonClient = `
import asyncio, http.client, os, socket, sys
said = []
for name in sys.argv[1].split(","):
    host, port = name.split(":")
    try:
        connection = http.client.HTTPConnection(host, int(port))
        connection.request("GET", "/")
        said.append(connection.getresponse().read().decode())
    except OSError as error:
        said.append(type(error).__name__)
async def read():
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.write(b"GET / HTTP/1.0\\r\\n\\r\\n")
    said.append((await reader.read()).decode().split()[-1])
host, port = sys.argv[1].split(",")[0].split(":")
asyncio.run(read())
plain = socket.socket()
plain.connect((host, int(port)))
print(*said, socket.gethostbyname("some.localhost"), plain.getpeername()[0], os.environ["OTHER"])
`;

t.test('pods reach a Service by its names, and its ready endpoints in turn', async (t) => {
  const { image, pod, until, log, kube } = await startNode(t);
  const port = await freePort();
  const clusterIP = `127.96.${process.pid % 250}.${1 + (port % 250)}`;
  kube.seed(
    slice('api-1', await backend(t, 'one')),
    slice('api-2', await backend(t, 'two')),
    slice('api-3', await backend(t, 'unready'), false),
    // Nothing listens there, so it is skipped.
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
  t.same(new Set(later.slice(0, 4)), new Set(['ENOTFOUND']), 'the names are removed with the Service');
});

t.test('other programs find Services by their names, or by addresses in variables', async (t) => {
  const { image, pod, until, log, kube } = await startNode(t);
  const port = await freePort();
  const clusterIP = `127.99.${process.pid % 250}.${1 + (port % 250)}`;
  const only = await backend(t, 'one');
  kube.seed(slice('api-1', only), {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'api', namespace: 'default' },
    spec: { clusterIP, ports: [{ name: 'http', port, targetPort: 'http' }] },
  });
  const source = 'import { connect } from "node:net";';
  const where =
    'connect(process.env.PORT_OF_API, process.env.OTHER).on("connect", function () { console.log(this.remotePort); this.destroy(); });';
  await image('client:1', `${source} ${where}`);
  const run = async (name: string, command: string[], value: string) => {
    const env = [
      { name: 'OTHER', value },
      { name: 'PYTHONPATH', value: '/srv/elsewhere' },
      { name: 'PORT_OF_API', value: String(port) },
    ];
    const container = { name: 'main', image: 'client:1', command, env };
    await pod(name, { restartPolicy: 'Never', containers: [container] });
    const ended = await until(name, ({ status }) => status?.phase === 'Succeeded' || status?.phase === 'Failed');
    return (await log(ended, 'main')).trim();
  };
  const names = ['api', 'API.default.', 'api.default.svc', 'api.default.svc.cluster.local', 'nobody.nowhere'];
  const python = ['python3', '-c', pythonClient, names.map((name) => `${name}:${port}`).join(',')];
  t.equal(
    await run('python', python, 'http://user:pass@api.default.svc:80/path'),
    `one one one one gaierror one 127.0.0.1 ${clusterIP} http://user:pass@${clusterIP}:80/path`,
  );
  const shell = ['sh', '-c', 'echo "$OTHER $PYTHONPATH"'];
  t.match(await run('shell', shell, 'api.default.svc'), new RegExp(`^${clusterIP} .+:/srv/elsewhere$`));
  t.match(await run('unknown', shell, 'gone.default.svc'), /^gone\.default\.svc /);
  t.equal(await run('node', ['tini', '--', 'node', '-p', 'process.env.OTHER'], 'api.default.svc'), 'api.default.svc');
  const started = ['sh', '-c', 'exec node main.mjs'];
  t.equal(await run('started', started, 'api.default.svc'), String(only), 'Node goes to the only pod by address, too');
});

t.test('names are translated only in values that are a host or a URL', (t) => {
  const hosts = new Map([['orders.shop-prod', '127.64.0.9']]);
  const expected: Record<string, string> = {
    'orders.shop-prod.svc': '127.64.0.9',
    'Orders.shop-prod.svc.cluster.local.': '127.64.0.9',
    'orders.shop-prod.svc:5432': '127.64.0.9:5432',
    'redis://:p%40ss@orders.shop-prod.svc:6379/0': 'redis://:p%40ss@127.64.0.9:6379/0',
    'http://orders.shop-prod.svc?at=orders.shop-prod.svc': 'http://127.64.0.9?at=orders.shop-prod.svc',
  };
  const kept = [
    'orders',
    'orders.shop-prod',
    'orders.shop-prod.svc.example.com',
    'my.orders.shop-prod.svc',
    'at orders.shop-prod.svc',
    'stock.shop-prod.svc',
    'http://example.com/orders.shop-prod.svc',
  ];
  for (const [value, translated] of Object.entries(expected)) t.equal(translateName(value, hosts), translated);
  for (const value of kept) t.equal(translateName(value, hosts), value);
  t.end();
});

/** Prints where its connections lead: by port and host, by options, and through Node's HTTP client. */
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

t.test("a Node program connects directly to a Service's only pod, and through the node to several", async (t) => {
  const { image, pod, until, log, kube } = await startNode(t);
  const port = await freePort();
  const only = await backend(t, 'one');
  const service = (name: string, clusterIP: string) => ({
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name, namespace: 'default' },
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
  const output = await log(await until('dialler', ({ status }) => status?.phase === 'Succeeded'), 'main');
  t.same(output.trim().split(' ').map(Number), [only, only, only, port]);
});
