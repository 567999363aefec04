import { spawn } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { parseArgs } from 'node:util';
import { root, run as runProgram } from '../../infra/demo/program.ts';
import { homeAt, type Home } from '../../infra/local/home.ts';
import { findSupervisor } from '../../infra/local/supervisor-record.ts';
import { stopSupervisor } from '../../infra/local/supervisor.ts';
import { upLocal } from '../../infra/local/up.ts';
import { systemClock } from '../../runtime/domain/clock.ts';
import { createKubeClient } from '../../runtime/kube/client.ts';
import { loadKubeConfig } from '../../runtime/kube/kubeconfig.ts';
import { runningPlatform, uniqueName } from '../support/platform.ts';
import { createSubject, throughPlatform, toZero } from './cold-start/subject.ts';
import { median, printFigure } from './figure.ts';
import { usageOf } from './local/process-tree.ts';

/** After this time the work of a start has ended. */
const settleMs = 30_000;
const idleMs = 60_000;

/**
 * The embedded cluster: from a fresh clone of the committed files, with an empty npm cache, to the demo's last line; a
 * warm start; everything idle with the demo's apps; and cold starts of a Node function. PostgreSQL and Redis must be
 * installed. `--skip-clone` skips the first; `--starts <n>` (20).
 */
export async function run(args: string[]): Promise<void> {
  const { values } = parseArgs({
    args,
    options: { 'skip-clone': { type: 'boolean', default: false }, starts: { type: 'string', default: '20' } },
  });
  const scratch = mkdtempSync(join(tmpdir(), 'svc-bench-'));
  const folder = join(scratch, 'home');
  // PostgreSQL started by root runs as another user.
  chmodSync(scratch, 0o711);
  const home = homeAt(folder);
  process.env['SVC_HOME'] = folder;
  try {
    if (!values['skip-clone']) {
      const seconds = await fromFreshClone(scratch, folder);
      printFigure({ name: 'local.fresh-clone', value: seconds, unit: 's', target: { operator: '<', value: 180 } });
    }
    await upLocal({ folder, log });
    await stopSupervisor(home);
    const startedAt = performance.now();
    await upLocal({ folder, log });
    const warm = (performance.now() - startedAt) / 1000;
    printFigure({ name: 'local.warm-start', value: warm, unit: 's', target: { operator: '<', value: 10 } });
    await rest(home);
    await coldStarts(Number(values.starts));
  } finally {
    await stopSupervisor(home);
    rmSync(scratch, { recursive: true, force: true });
  }
}

/**
 * Seconds of `npm start -- --detach` in a clone, including the clone. The platform keeps running for the other figures.
 */
async function fromFreshClone(scratch: string, folder: string): Promise<number> {
  const clone = join(scratch, 'clone');
  const env = {
    ...process.env,
    SVC_HOME: folder,
    npm_config_cache: join(scratch, 'npm'),
    // The machine's own registry settings are used.
    npm_config_userconfig: process.env['npm_config_userconfig'] ?? join(homedir(), '.npmrc'),
    PATH: (process.env['PATH'] ?? '')
      .split(delimiter)
      .filter((entry) => !entry.includes('node_modules'))
      .join(delimiter),
  };
  const startedAt = performance.now();
  const cloned = await runProgram('git', ['clone', '--quiet', root, clone]);
  if (cloned.code !== 0) throw new Error(cloned.stderr);
  const child = spawn('npm', ['start', '--', '--detach'], { cwd: clone, env, stdio: ['ignore', 'ignore', 'inherit'] });
  const code = await new Promise((resolve, reject) => child.once('error', reject).once('close', resolve));
  if (code !== 0) throw new Error(`npm start ended with ${String(code)}`);
  return (performance.now() - startedAt) / 1000;
}

/** Memory counts shared pages once (proportional set size); time is that of all processes, including ended ones. */
async function rest(home: Home): Promise<void> {
  const supervisor = findSupervisor(home);
  if (!supervisor) throw new Error(`${home.process} names no process that runs`);
  await systemClock.sleep(settleMs);
  const before = usageOf(supervisor.pid);
  await systemClock.sleep(idleMs);
  const after = usageOf(supervisor.pid);
  const percent = ((after.cpuSeconds - before.cpuSeconds) / (idleMs / 1000)) * 100;
  for (const { command, megabytes } of after.processes) log(`${megabytes.toFixed(0).padStart(5)} MB  ${command}`);
  printFigure({ name: 'local.idle-memory', value: after.megabytes, unit: 'MB', target: { operator: '<', value: 700 } });
  printFigure({ name: 'local.idle-cpu', value: percent, unit: '%', target: { operator: '<', value: 5 } });
}

async function coldStarts(count: number): Promise<void> {
  const platform = await runningPlatform();
  const project = uniqueName('bench');
  const kube = createKubeClient(loadKubeConfig(platform.info.kubeconfig));
  try {
    await platform.ok(['project', 'create', project, '--environment', 'prod']);
    const subject = await createSubject(platform, kube, project);
    const times: number[] = [];
    for (let start = 0; start < count; start++) {
      await toZero(subject);
      const steps = await throughPlatform(subject);
      times.push(steps.firstByte);
      log(`cold start ${start + 1}: ${JSON.stringify(steps)}`);
    }
    await subject.pods.stop();
    const value = median(times);
    printFigure({ name: 'local.cold-start', value, unit: 'ms', target: { operator: '<', value: 300 } });
    printFigure({ name: 'local.cold-start.slowest', value: Math.max(...times), unit: 'ms' });
  } finally {
    await platform.ok(['project', 'delete', project, '--yes']);
    await kube.close();
  }
}

function log(line: string): void {
  process.stderr.write(`${line}\n`);
}
