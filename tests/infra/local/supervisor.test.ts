import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import type { Stored } from '../../../runtime/contracts/kubernetes.ts';
import { homeAt, homeFolder, type Home } from '../../../infra/local/home.ts';
import { createImageStore } from '../../../infra/local/node/images.ts';
import { recordName } from '../../../infra/local/node/orphans.ts';
import { choosePorts, readPorts } from '../../../infra/local/ports.ts';
import { findClosedAncestor } from '../../../infra/local/folder-permissions.ts';
import { findSupervisor } from '../../../infra/local/supervisor-record.ts';
import { startOnFreePorts, startSupervisor, stopSupervisor } from '../../../infra/local/supervisor.ts';
import { isAlive, type ProcessRecord } from '../../../infra/process-record.ts';
import type { Pod } from '../../../runtime/contracts/pod.ts';
import { kinds } from '../../../runtime/contracts/resources/kinds.ts';
import { createKubeClient } from '../../../runtime/kube/client.ts';
import { loadKubeConfig } from '../../../runtime/kube/kubeconfig.ts';
import { eventually } from '../../support/platform.ts';

const program = 'setInterval(() => undefined, 1000);';

/** Node.js caches compiled code here for all starts of this file, which saves much of their time. */
const compileCache = mkdtempSync(join(tmpdir(), 'svc-compile-cache-'));
t.teardown(() => rmSync(compileCache, { recursive: true, force: true }));

/** A home with an image. Its processes are stopped at the end of the test. */
async function homeOf(t: Test): Promise<Home> {
  // tap removes its own folders before it stops the processes that use them.
  const folder = mkdtempSync(join(tmpdir(), 'svc-supervisor-'));
  // Pods have other users if this test runs as root.
  chmodSync(folder, 0o711);
  const home = homeAt(join(folder, 'home'));
  t.teardown(async () => {
    await stopSupervisor(home);
    rmSync(folder, { recursive: true, force: true });
  });
  for (const path of [home.folder, home.node, join(folder, 'context')]) mkdirSync(path);
  symlinkSync(compileCache, join(home.node, 'compile-cache'));
  writeFileSync(join(folder, 'context/main.mjs'), program);
  await createImageStore(home.images).add(join(folder, 'context'), 'sleeper:1', {
    entrypoint: ['tini', '--', 'node', 'main.mjs'],
  });
  return home;
}

async function start(home: Home): Promise<void> {
  await startOnFreePorts(home, { attached: false, log: () => undefined });
}

/** The pod's process, once it runs and differs from `before`. */
async function processOf(home: Home, before?: ProcessRecord): Promise<ProcessRecord> {
  const kube = createKubeClient(loadKubeConfig(join(home.apiServer, 'admin.kubeconfig')));
  try {
    const { metadata } = await eventually(
      async () => (await kube.get<Pod>(kinds.Pod, 'sleeper', 'default')) as Stored<Pod>,
      (pod) => pod.status?.phase === 'Running',
    );
    const file = join(home.node, 'pods', metadata.uid, 'containers/main', recordName);
    const podProcess = await eventually(
      // Between two runs there is no record.
      async () => recordIn(file),
      (record) => record !== undefined && record.pid !== before?.pid && isAlive(record),
    );
    if (!podProcess) throw new Error('the pod has no process');
    return podProcess;
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
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'sleeper', namespace: 'default' },
    spec: { terminationGracePeriodSeconds: 1, containers: [{ name: 'main', image: 'sleeper:1' }] },
  });
  await kube.close();
}

t.test('pods stop with the process and run again after the next start', async (t) => {
  const home = await homeOf(t);
  await start(home);
  t.equal(findSupervisor(home)?.state, 'ready');
  await createPod(home);
  const first = await processOf(home);
  t.ok(await stopSupervisor(home));
  t.notOk(isAlive(first));
  t.equal(findSupervisor(home), undefined);
  t.notOk(await stopSupervisor(home), 'nothing is left to stop');
  const ports = readPorts(home.ports);
  await start(home);
  t.same(readPorts(home.ports), ports, 'on the same ports');
  const second = await processOf(home, first);
  t.ok(isAlive(second));

  await t.test('after a kill, the next start kills what was left running', async (t) => {
    process.kill(findSupervisor(home)?.pid ?? 0, 'SIGKILL');
    await eventually(
      async () => findSupervisor(home),
      (supervisor) => supervisor === undefined,
    );
    t.ok(isAlive(second));
    await start(home);
    t.notOk(isAlive(second));
    t.ok(isAlive(await processOf(home, second)));
  });
});

t.test('an attached process stops when the process that started it is killed', async (t) => {
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
  const exited = once(parent, 'exit').then(() => Promise.reject(new Error('the parent process ended')));
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

t.test('a failed start reports the error in the log', async (t) => {
  const home = await homeOf(t);
  const server = createServer().listen(0, '127.0.0.1');
  t.teardown(() => server.close());
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  await t.rejects(
    startSupervisor(
      home,
      { apiServer: port, ingress: port, images: port, metrics: port, logs: port },
      { attached: false },
    ),
    /EADDRINUSE/,
  );
});

t.test('another port replaces one that is in use, but not a requested one', async (t) => {
  const file = join(t.testdir({}), 'ports.json');
  const lines: string[] = [];
  const say = (line: string) => lines.push(line);
  const first = await choosePorts(file, {}, say);
  t.not(first.apiServer, first.ingress);
  const server = createServer().listen(first.ingress);
  t.teardown(() => server.close());
  await once(server, 'listening');
  lines.length = 0;
  const second = await choosePorts(file, {}, say);
  t.not(second.ingress, first.ingress);
  t.ok(lines.includes(`port ${first.ingress} is in use; using ${second.ingress} instead`));
  t.equal(readPorts(file).ingress, second.ingress, 'and stored for the next start');
  await t.rejects(choosePorts(file, { ingress: first.ingress }, say), /is in use\. Choose another one with --port/);
});

t.test('platforms that start at the same time get different ports', async (t) => {
  const homes = await Promise.all([homeOf(t), homeOf(t), homeOf(t)]);
  const ports = await Promise.all(
    homes.map((home) => startOnFreePorts(home, { attached: false, log: () => undefined })),
  );
  const numbers = ports.flatMap((chosen) => Object.values(chosen));
  t.equal(new Set(numbers).size, numbers.length, numbers.join(', '));
  t.same(
    homes.map((home) => [findSupervisor(home)?.state, readPorts(home.ports)]),
    ports.map((chosen) => ['ready', chosen]),
  );
});

t.test('the default folder, and folders that other users cannot reach', async (t) => {
  t.equal(homeFolder({ SVC_HOME: '/x' }), '/x');
  const isRoot = process.getuid?.() === 0;
  t.equal(homeFolder({ HOME: '/home/a' }), isRoot ? '/var/lib/svc' : '/home/a/.local/share/svc');
  const folder = t.testdir({});
  mkdirSync(join(folder, 'shut'), { mode: 0o700 });
  t.equal(findClosedAncestor(join(folder, 'shut', 'inside')), join(folder, 'shut'));
  t.equal(
    findClosedAncestor(join(folder, 'shut', 'not', 'yet')),
    join(folder, 'shut'),
    'also below a folder that does not exist',
  );
});
