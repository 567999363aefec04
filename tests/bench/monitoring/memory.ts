import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { homeAt } from '../../../infra/local/home.ts';
import { findSupervisor } from '../../../infra/local/supervisor-record.ts';
import { stopSupervisor } from '../../../infra/local/supervisor.ts';
import { upLocal } from '../../../infra/local/up.ts';
import { systemClock } from '../../../runtime/domain/clock.ts';
import { printFigure } from '../figure.ts';
import { usageOf } from '../local/process-tree.ts';

/** After this time the work of a start has ended, and metrics were collected several times. */
const settleMs = 60_000;

/** Memory of the embedded cluster at rest, with what monitoring adds to it. */
export async function memoryAtRest(): Promise<void> {
  const scratch = mkdtempSync(join(tmpdir(), 'svc-bench-'));
  const folder = join(scratch, 'home');
  // PostgreSQL started by root runs as another user.
  chmodSync(scratch, 0o711);
  const home = homeAt(folder);
  const log = (line: string) => void process.stderr.write(`${line}\n`);
  try {
    await upLocal({ folder, log });
    const supervisor = findSupervisor(home);
    if (!supervisor) throw new Error(`${home.process} names no process that runs`);
    await systemClock.sleep(settleMs);
    const { megabytes, processes } = usageOf(supervisor.pid);
    for (const { command, megabytes: size } of processes) log(`${size.toFixed(0).padStart(5)} MB  ${command}`);
    printFigure({ name: 'monitoring.memory', value: megabytes, unit: 'MB', target: { operator: '<', value: 700 } });
  } finally {
    await stopSupervisor(home);
    rmSync(scratch, { recursive: true, force: true });
  }
}
