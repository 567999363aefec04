import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { Registry } from 'prom-client';
import t, { type Test } from 'tap';
import { createApiServer } from '../../../../infra/local/apiserver/server.ts';
import { createControllerManager } from '../../../../infra/local/controllers/controller-manager.ts';
import type { Deployment, Service, StatefulSet } from '../../../../infra/local/controllers/objects.ts';
import { createImageStore } from '../../../../infra/local/node/images.ts';
import { createLocalNode, type LocalNode } from '../../../../infra/local/node/node.ts';
import type { Pod } from '../../../../runtime/contracts/pod.ts';
import { kinds } from '../../../../runtime/contracts/resources/kinds.ts';
import { systemClock } from '../../../../runtime/domain/clock.ts';
import { createKubeClient } from '../../../../runtime/kube/client.ts';
import { loadKubeConfig } from '../../../../runtime/kube/kubeconfig.ts';
import { findCondition } from '../../../../runtime/kube/conditions.ts';
import type { KubeClient } from '../../../../runtime/kube/kube-client.ts';
import { acceleratedClock } from '../../../support/clock.ts';
import { kubectl, noKubectl } from '../../../support/kubectl.ts';
import { timeFactor } from '../../../support/local-node.ts';
import { silentLog } from '../../../support/log.ts';
import { freePort } from '../../../support/servers.ts';
import { ownFolder } from '../../../support/own-folder.ts';

const collected = [
  kinds.Deployment,
  kinds.ReplicaSet,
  kinds.StatefulSet,
  kinds.BatchJob,
  kinds.CronJob,
  kinds.Pod,
  kinds.Service,
  kinds.EndpointSlice,
];

interface Cluster {
  kube: KubeClient;
  kubeconfig: string;
  /** Creates an image of one program. */
  image: (reference: string, source: string) => Promise<void>;
  until: <T>(what: string, look: () => Promise<T | undefined | false>) => Promise<T>;
}

/** API server, controllers and node together, in a folder that outlives them; stopped with the test. */
async function startCluster(t: Test, folder = ownFolder(t)): Promise<Cluster & { stop: () => Promise<void> }> {
  let node: LocalNode | undefined;
  const server = createApiServer({
    dataDir: join(folder, 'api'),
    clock: systemClock,
    async logs({ metadata: { uid = '' } }, { container, ...options }, signal) {
      if (!node) throw new Error('there is no node');
      return node.logs({ uid, container }, options, signal);
    },
    async exec({ metadata: { uid = '' } }, { container, ...run }, streams, signal) {
      if (!node) throw new Error('there is no node');
      return node.exec({ uid, container }, run, streams, signal);
    },
  });
  await server.start();
  const kube = createKubeClient(loadKubeConfig(server.kubeconfig));
  const common = { kube, clock: acceleratedClock(timeFactor), log: silentLog };
  const manager = createControllerManager({ ...common, registry: new Registry(), collected });
  const images = createImageStore(join(folder, 'images'));
  const first = 24_000 + (process.pid % 50) * 100;
  node = createLocalNode({
    ...common,
    images,
    folder: join(folder, 'node'),
    issueToken: async () => 'a token',
    apiServer: { url: server.url, ca: '' },
    path: process.env['PATH'] ?? '',
    portRange: { first, last: first + 99 },
    stopSeconds: timeFactor,
  });
  await manager.start();
  await node.start();
  let stopped: Promise<void> | undefined;
  const stop = async () => {
    await node?.stop();
    await manager.stop();
    await kube.close();
    await server.stop();
  };
  t.teardown(() => (stopped ??= stop()));
  return {
    kube,
    kubeconfig: server.kubeconfig,
    stop: () => (stopped ??= stop()),
    async image(reference, source) {
      const context = join(folder, 'context');
      mkdirSync(context, { recursive: true });
      writeFileSync(join(context, 'main.mjs'), source);
      await images.add(context, reference, { entrypoint: ['tini', '--', 'node', 'main.mjs'] });
    },
    async until(what, look) {
      const end = performance.now() + 30_000;
      for (;;) {
        const result = await look();
        if (result !== undefined && result !== false) return result;
        if (performance.now() > end) throw new Error(`it never came to that: ${what}`);
        await systemClock.sleep(20);
      }
    },
  };
}

const program = `
import { createServer } from 'node:http';
const server = createServer((request, response) => response.end(process.env.VERSION));
server.listen(Number(process.env.PORT), () => console.log('version', process.env.VERSION, 'listens'));
process.on('SIGTERM', () => { server.close(() => process.exit(0)); server.closeIdleConnections(); });
`;
const labels = { app: 'web' };
const deployment = (version: string): Deployment => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'web', namespace: 'default' },
  spec: {
    replicas: 2,
    selector: { matchLabels: labels },
    strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } },
    template: {
      metadata: { labels },
      spec: {
        terminationGracePeriodSeconds: 5,
        containers: [
          {
            name: 'web',
            image: 'web:1',
            ports: [{ name: 'http', containerPort: 8080 }],
            env: [{ name: 'VERSION', value: version }],
            readinessProbe: { tcpSocket: { port: 'http' }, periodSeconds: 1 },
            lifecycle: { preStop: { sleep: { seconds: 1 } } },
          },
        ],
      },
    },
  },
});

t.test('a Deployment serves through its Service, without a gap during a rollout', async (t) => {
  const { kube, image, until } = await startCluster(t);
  await image('web:1', program);
  await kube.create(deployment('v1'));
  const port = await freePort();
  await kube.create<Service>({
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'web', namespace: 'default' },
    spec: { selector: labels, ports: [{ name: 'http', port, targetPort: 'http' }] },
  });
  const complete = (version: string) =>
    until(`two of ${version}`, async () => {
      const live = await kube.get<Deployment>(kinds.Deployment, 'web', 'default');
      const { items } = await kube.list<Pod>(kinds.Pod, { namespace: 'default' });
      const envs = items.map(({ spec }) => JSON.stringify(spec));
      const done = findCondition(live?.status?.conditions, 'Progressing')?.reason === 'NewReplicaSetAvailable';
      return done && envs.length === 2 && envs.every((env) => env.includes(`"${version}"`)) && items;
    });
  const [first] = await complete('v1');
  const address = (await kube.get<Service>(kinds.Service, 'web', 'default'))?.spec.clusterIP;
  const ask = async () => {
    const response = await fetch(`http://${address}:${port}/`, { headers: { connection: 'close' } });
    return response.text();
  };
  await until('it answers', () => ask().catch(() => undefined));
  t.equal(await ask(), 'v1');
  const path = `/api/v1/namespaces/default/pods/${first?.metadata.name}/log?tailLines=1`;
  t.equal(await text(kube.stream(path, AbortSignal.timeout(30_000))), 'version v1 listens\n');

  const answers: string[] = [];
  const rolling = new AbortController();
  const asking = (async () => {
    while (!rolling.signal.aborted) answers.push(await ask().catch((error: unknown) => `failed: ${String(error)}`));
  })();
  const live = await kube.get<Deployment>(kinds.Deployment, 'web', 'default');
  if (live) await kube.replace({ ...live, spec: deployment('v2').spec });
  await complete('v2');
  rolling.abort();
  await asking;
  t.same(
    [...new Set(answers)].toSorted((a, b) => a.localeCompare(b)),
    ['v1', 'v2'],
    'not one request failed',
  );

  await kube.delete({ apiVersion: 'apps/v1', kind: 'Deployment', namespace: 'default', name: 'web' });
  await until('nothing is left', async () => {
    const { items } = await kube.list(kinds.Pod, { namespace: 'default' });
    return items.length === 0 && 'yes';
  });
  await t.rejects(ask());
});

t.test('after a restart everything runs again, with its data', async (t) => {
  const folder = ownFolder(t);
  const before = await startCluster(t, folder);
  const counter = `
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
const file = process.env.FILE;
const count = existsSync(file) ? Number(readFileSync(file, 'utf8')) + 1 : 1;
writeFileSync(file, String(count));
console.log('start', count);
setInterval(() => {}, 1000);
`;
  const set: StatefulSet = {
    apiVersion: 'apps/v1',
    kind: 'StatefulSet',
    metadata: { name: 'store', namespace: 'default' },
    spec: {
      serviceName: 'store',
      replicas: 1,
      selector: { matchLabels: { app: 'store' } },
      template: {
        metadata: { labels: { app: 'store' } },
        spec: {
          terminationGracePeriodSeconds: 1,
          containers: [
            {
              name: 'store',
              image: 'store:1',
              env: [{ name: 'FILE', value: '/data/count' }],
              volumeMounts: [{ name: 'data', mountPath: '/data' }],
            },
          ],
        },
      },
      volumeClaimTemplates: [
        {
          metadata: { name: 'data' },
          spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
        },
      ],
    },
  };
  const log = ({ kube }: Cluster, content: string) =>
    text(kube.stream('/api/v1/namespaces/default/pods/store-0/log', AbortSignal.timeout(30_000))).then(
      (log) => log === content && 'yes',
      () => undefined,
    );
  await before.image('store:1', counter);
  await before.kube.create(set);
  await before.until('it runs', () => log(before, 'start 1\n'));
  await before.stop();
  const after = await startCluster(t, folder);
  await after.until('it runs again', () => log(after, 'start 2\n'));
  const [claim] = (await after.kube.list(kinds.PersistentVolumeClaim, { namespace: 'default' })).items;
  t.match(claim, { metadata: { name: 'data-store-0' }, status: { phase: 'Bound', capacity: { storage: '1Gi' } } });
});

t.test('kubectl exec runs a command beside a container', { skip: noKubectl }, async (t) => {
  const { kube, kubeconfig, image, until } = await startCluster(t);
  await image('idle:1', 'setInterval(() => {}, 1000);');
  const volumes = [{ name: 'data', emptyDir: {} }];
  const volumeMounts = [{ name: 'data', mountPath: '/data' }];
  const env = [{ name: 'COLOUR', value: 'blue' }];
  const containers = [{ name: 'main', image: 'idle:1', env, volumeMounts }];
  const metadata = { name: 'idle', namespace: 'default' };
  await kube.create({ apiVersion: 'v1', kind: 'Pod', metadata, spec: { containers, volumes } });
  await until('it runs', async () => (await kube.get<Pod>(kinds.Pod, 'idle', 'default'))?.status?.phase === 'Running');
  const exec = (options: readonly string[], command: readonly string[], input?: string) =>
    kubectl(kubeconfig, ['exec', ...options, '--', ...command], input);

  const split = 'echo $COLOUR; echo oops >&2; cat > /dev/null; exit 3';
  const both = await exec(['idle'], ['sh', '-c', split]);
  t.match(both, { stdout: 'blue\n', code: 3 }, 'output, and how it ended');
  t.equal(both.stderr, 'oops\ncommand terminated with exit code 3\n');

  const size = 3_000_000;
  const written = await exec(['-i', 'idle'], ['sh', '-c', 'tee /data/file | wc -c'], 'x'.repeat(size));
  t.match(written, { stdout: `${size}\n`, stderr: '', code: 0 }, 'input to its end');
  const read = await exec(['pod/idle', '-c', 'main'], ['cat', '/data/file']);
  t.match(read, { stderr: '', code: 0 });
  t.equal(read.stdout.length, size, 'output to its end');
  t.match(await exec(['-i', 'idle'], ['true'], 'x'.repeat(size)), { code: 0 }, 'input that the command does not read');

  t.match(await exec(['idle'], ['no-such-program']), { stderr: /Cannot start "no-such-program"/, code: 1 });
  t.match(await exec(['idle', '-c', 'other'], ['true']), { stderr: /container other is not valid/, code: 1 });
  t.match(await exec(['none'], ['true']), { stderr: /pods "none" not found/, code: 1 });

  const sleeping = exec(['idle'], ['sh', '-c', 'touch /data/begun; sleep 600']);
  await exec(['idle'], ['sh', '-c', 'until test -e /data/begun; do sleep 0.05; done']);
  await kube.delete({ apiVersion: 'v1', kind: 'Pod', ...metadata }, { gracePeriodSeconds: 0 });
  t.match(await sleeping, { code: 137 }, 'a command in a container ends with it');
});
