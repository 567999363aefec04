import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import type { Stored } from '../../../runtime/contracts/kubernetes.ts';
import { homeAt, homeFolder, type Home } from '../../../infra/local/home.ts';
import { createImageStore } from '../../../infra/local/node/images.ts';
import { recordName } from '../../../infra/local/node/orphans.ts';
import { choosePorts, readPorts } from '../../../infra/local/ports.ts';
import { closedAncestor } from '../../../infra/local/reachable.ts';
import { findSupervisor, startOnFreePorts, startSupervisor, stopSupervisor } from '../../../infra/local/supervisor.ts';
import { isAlive, type ProcessRecord } from '../../../infra/process-record.ts';
import type { Pod } from '../../../runtime/contracts/pod.ts';
import { kinds } from '../../../runtime/contracts/resources/kinds.ts';
import { createKubeClient } from '../../../runtime/kube/client.ts';
import { loadKubeConfig } from '../../../runtime/kube/kubeconfig.ts';
import { eventually } from '../../support/platform.ts';

const program = 'setInterval(() => undefined, 1000);';

/** A home with an image in it; whatever runs there ends with the test. */
async function homeOf(t: Test): Promise<Home> {
  // tap removes its own folders before it ends what uses them.
  const folder = mkdtempSync(join(tmpdir(), 'svc-supervisor-'));
  const home = homeAt(join(folder, 'home'));
  t.teardown(async () => {
    await stopSupervisor(home);
    rmSync(folder, { recursive: true, force: true });
  });
  for (const made of [home.folder, join(folder, 'context')]) mkdirSync(made);
  writeFileSync(join(folder, 'context/main.mjs'), program);
  await createImageStore(home.images).add(join(folder, 'context'), 'sleeper:1', {
    entrypoint: ['tini', '--', 'node', 'main.mjs'],
  });
  return home;
}

async function start(home: Home): Promise<void> {
  await startOnFreePorts(home, { attached: false, log: () => undefined });
}

/** Resolves to the process of the pod, once it runs and is another than `before`. */
async function processOf(home: Home, before?: ProcessRecord): Promise<ProcessRecord> {
  const kube = createKubeClient(loadKubeConfig(join(home.apiServer, 'admin.kubeconfig')));
  try {
    const { metadata } = await eventually(
      async () => (await kube.get<Pod>(kinds.Pod, 'sleeper', 'default')) as Stored<Pod>,
      (pod) => pod.status?.phase === 'Running',
    );
    const file = join(home.node, 'pods', metadata.uid, 'containers/main', recordName);
    const found = await eventually(
      // There is none between two lives.
      async () => recordIn(file),
      (record) => record !== undefined && record.pid !== before?.pid && isAlive(record),
    );
    if (!found) throw new Error('the pod has no process');
    return found;
  } finally {
    await kube.close();
  }
}

function recordIn(file: string): ProcessRecord | undefined {
  return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as ProcessRecord) : undefined;
}

async function createPod(home: Home): Promise<void> {
  const kube = createKubeClient(loadKubeConfig(join(home.apiServer, 'admin.kubeconfig')));
  await kube.create({
    ...{ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'sleeper', namespace: 'default' } },
    spec: { terminationGracePeriodSeconds: 1, containers: [{ name: 'main', image: 'sleeper:1' }] },
  });
  await kube.close();
}

t.test('pods end with it, and run again at the next start with what was stored', async (t) => {
  const home = await homeOf(t);
  await start(home);
  t.equal(findSupervisor(home)?.state, 'ready');
  await createPod(home);
  const first = await processOf(home);
  t.ok(await stopSupervisor(home));
  t.notOk(isAlive(first));
  t.equal(findSupervisor(home), undefined);
  t.notOk(await stopSupervisor(home), 'there is nothing to end any more');
  const ports = readPorts(home.ports);
  await start(home);
  t.same(readPorts(home.ports), ports, 'at the same addresses');
  t.ok(isAlive(await processOf(home, first)));
});

t.test('after it was killed, the next one ends what it left running', async (t) => {
  const home = await homeOf(t);
  await start(home);
  await createPod(home);
  const orphan = await processOf(home);
  process.kill(findSupervisor(home)?.pid ?? 0, 'SIGKILL');
  await eventually(
    async () => findSupervisor(home),
    (found) => found === undefined,
  );
  t.ok(isAlive(orphan));
  await start(home);
  t.notOk(isAlive(orphan));
  t.ok(isAlive(await processOf(home, orphan)));
});

t.test('attached, it ends with whoever started it, even one that was killed', async (t) => {
  const home = await homeOf(t);
  const module = (name: string) => JSON.stringify(join(import.meta.dirname, '../../../infra/local', name));
  const code = `
    import { startOnFreePorts } from ${module('supervisor.ts')};
    import { homeAt } from ${module('home.ts')};
    const home = homeAt(${JSON.stringify(home.folder)});
    await startOnFreePorts(home, { attached: true, log: () => {} });
    setInterval(() => {}, 1000);
    console.log('up');`;
  const parent = spawn(process.execPath, ['--input-type=module-typescript', '--eval', code], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  t.teardown(() => parent.kill('SIGKILL'));
  const exited = once(parent, 'exit').then(() => Promise.reject(new Error('it could not be started')));
  await Promise.race([once(parent.stdout, 'data'), exited]);
  exited.catch(() => undefined);
  const running = findSupervisor(home);
  t.equal(running?.state, 'ready');
  parent.kill('SIGKILL');
  await eventually(
    async () => running && isAlive(running),
    (alive) => alive !== true,
  );
});

t.test('what keeps it from starting is told', async (t) => {
  const home = await homeOf(t);
  const other = createServer().listen(0, '127.0.0.1');
  t.teardown(() => other.close());
  await once(other, 'listening');
  const { port } = other.address() as AddressInfo;
  await t.rejects(
    startSupervisor(home, { apiServer: port, ingress: port, images: port }, { attached: false }),
    /EADDRINUSE/,
  );
});

t.test('a port that is in use is passed over, one that was asked for is not', async (t) => {
  const file = join(t.testdir({}), 'ports.json');
  const said: string[] = [];
  const say = (line: string) => said.push(line);
  const first = await choosePorts(file, {}, say);
  t.not(first.apiServer, first.ingress);
  const other = createServer().listen(first.ingress);
  t.teardown(() => other.close());
  await once(other, 'listening');
  said.length = 0;
  const second = await choosePorts(file, {}, say);
  t.not(second.ingress, first.ingress);
  t.ok(said.includes(`port ${first.ingress} is in use: taking ${second.ingress}`));
  t.equal(readPorts(file).ingress, second.ingress, 'and kept from now on');
  await t.rejects(choosePorts(file, { ingress: first.ingress }, say), /is in use; choose another with --port/);
});

t.test('several that start at the same moment have ports of their own', async (t) => {
  const homes = await Promise.all([homeOf(t), homeOf(t), homeOf(t)]);
  const given = await Promise.all(
    homes.map((home) => startOnFreePorts(home, { attached: false, log: () => undefined })),
  );
  const numbers = given.flatMap((ports) => Object.values(ports));
  t.equal(new Set(numbers).size, 9, numbers.join(', '));
  t.same(
    homes.map((home) => [findSupervisor(home)?.state, readPorts(home.ports)]),
    given.map((ports) => ['ready', ports]),
  );
});

t.test('where everything lies', async (t) => {
  t.equal(homeFolder({ SVC_HOME: '/x' }), '/x');
  const isRoot = process.getuid?.() === 0;
  t.equal(homeFolder({ HOME: '/home/a' }), isRoot ? '/var/lib/svc' : '/home/a/.local/share/svc');
  const folder = t.testdir({});
  mkdirSync(join(folder, 'shut'), { mode: 0o700 });
  t.equal(closedAncestor(join(folder, 'shut', 'inside')), join(folder, 'shut'));
  t.equal(closedAncestor(join(folder, 'shut', 'not', 'yet')), join(folder, 'shut'), 'also below what is not there');
});
