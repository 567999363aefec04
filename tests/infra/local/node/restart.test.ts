import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { identify } from '../../../../infra/process-record.ts';
import { killOrphans } from '../../../../infra/local/node/orphans.ts';
import { killContainer } from '../../../../infra/local/node/process-table.ts';
import { isPodReady } from '../../../../runtime/contracts/pod.ts';
import type { NodePod } from '../../../../infra/local/node/pod-spec.ts';
import { startNode } from '../../../support/local-node.ts';

const main = (pod: NodePod) => pod.status?.containerStatuses?.[0];
const isRunning = (pid: number) => identify('a process', pid) !== undefined;
const sleeper = { name: 'main', image: 'sleeper:1', readinessProbe: { exec: { command: ['test', '-f', 'pid'] } } };
/** Leaves children that outlive it: one in its group and one in a separate session. */
const source = `
import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
const children = [false, true].map((detached) => spawn('sleep', ['1000'], { detached, stdio: 'ignore' }).pid);
writeFileSync('pid.part', JSON.stringify([process.pid, ...children]));
(await import('node:fs')).renameSync('pid.part', 'pid');
setInterval(() => {}, 1000);
`;

t.test('a restarted node restarts its running pods, and no ended ones', async (t) => {
  const before = await startNode(t);
  await before.image('sleeper:1', source);
  await before.pod('lasting', { containers: [sleeper] });
  await before.pod('once', { restartPolicy: 'Never', containers: [sleeper] });
  await before.pod('over', { restartPolicy: 'Never', containers: [{ ...sleeper, command: ['true'] }] });
  const first = await before.until('lasting', isPodReady);
  await before.until('once', isPodReady);
  await before.until('over', ({ status }) => status?.phase === 'Succeeded');
  const work = join(before.folder, 'node/pods', first.metadata.uid, 'containers/main/work');
  const pids = JSON.parse(readFileSync(join(work, 'pid'), 'utf8')) as number[];
  t.ok(pids.every(isRunning));
  await before.node.stop();
  t.notOk(pids.some(isRunning), 'no process is left, children included');
  t.equal(before.kube.all({ apiVersion: 'v1', kind: 'Pod', plural: 'pods', namespaced: true }).length, 3);

  const after = await startNode(t, {}, before);
  const restartedPod = await after.until('lasting', (pod) => main(pod)?.restartCount === 1 && isPodReady(pod));
  t.equal(main(restartedPod)?.lastState?.terminated?.reason, 'ContainerStatusUnknown');
  const lost = await after.until('once', ({ status }) => status?.phase === 'Failed');
  t.match(main(lost)?.state?.terminated, { exitCode: 137, reason: 'ContainerStatusUnknown' });
  t.equal(main(await after.until('over', () => true))?.state?.terminated?.exitCode, 0);
});

t.test('orphans of a killed node are stopped, and no other process', async (t) => {
  const folder = t.testdir({ pods: {} });
  const container = join(folder, 'pods/uid-1/containers/main');
  mkdirSync(container, { recursive: true });
  const start = (env: Record<string, string>) =>
    spawn('sh', ['-c', 'sleep 1000 & setsid sleep 1000 & wait'], {
      detached: true,
      stdio: 'ignore',
      env: { PATH: process.env['PATH'], ...env },
    });
  // Programs such as PostgreSQL write over their environment.
  const recorded = start({});
  const unrecorded = start({ SVC_CONTAINER: 'uid-1/other' });
  const foreign = start({ SVC_CONTAINER: 'uid-2/main' });
  const bystander = start({});
  t.teardown(() => {
    for (const { pid } of [foreign, bystander]) killContainer(pid ?? 0, 'uid-2/main');
  });
  await Promise.all([recorded, unrecorded, foreign, bystander].map((child) => once(child, 'spawn')));
  const write = (name: string, record: object) => writeFileSync(join(container, name), JSON.stringify(record));
  write('process.json', identify('uid-1/main', recorded.pid ?? 0) ?? {});
  // An id that another process has now.
  const reused = join(folder, 'pods/uid-1/containers/reused');
  mkdirSync(reused);
  const record = { ...identify('uid-1/reused', bystander.pid ?? 0), startTicks: '1' };
  writeFileSync(join(reused, 'process.json'), JSON.stringify(record));

  const ends = [recorded, unrecorded].map((child) => once(child, 'exit'));
  t.equal(await killOrphans(join(folder, 'pods')), 1);
  await Promise.all(ends);
  t.ok(isRunning(foreign.pid ?? 0));
  t.ok(isRunning(bystander.pid ?? 0));
  t.notOk(existsSync(join(container, 'process.json')));
});
