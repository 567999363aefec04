import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { median, printFigure } from '../figure.ts';

const rounds = 20;
const svc = join(import.meta.dirname, '../../../cli/svc.js');

/**
 * The start of `svc` in a new process, in ms of wall time: of one command that loads its group and prints its help, and of
 * Node.js alone, which no command can be faster than. The cache of compiled modules is warm, as after any first command.
 */
export async function run(): Promise<void> {
  const home = mkdtempSync(join(tmpdir(), 'svc-start-'));
  const env = { PATH: process.env['PATH'], HOME: home };
  const start = (args: string[]): number => {
    const startedAt = performance.now();
    const { status, stderr } = spawnSync(process.execPath, args, { env, encoding: 'utf8' });
    if (status !== 0) throw new Error(stderr);
    return performance.now() - startedAt;
  };
  const series = (args: string[]): number[] => {
    start(args);
    return Array.from({ length: rounds }, () => start(args));
  };
  try {
    const commands = series([svc, 'app', 'list', '--help']);
    const node = series(['--eval', '0']);
    const target = { operator: '<=', value: 150 } as const;
    printFigure({ name: 'first-day.command-start', value: median(commands), unit: 'ms', target });
    printFigure({ name: 'first-day.command-start.slowest', value: Math.max(...commands), unit: 'ms' });
    printFigure({ name: 'first-day.command-start.node', value: median(node), unit: 'ms' });
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
}
