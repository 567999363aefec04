import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism, cpus, totalmem } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { parseArgs } from 'node:util';
import { busyMachineCode } from './gate/cores.ts';
import { withRun, type BenchRun } from './all/section.ts';

const root = join(import.meta.dirname, '../..');
const page = join(root, 'docs/explanation/performance.md');

/** What needs no running platform. */
const commands = [
  ['gate'],
  ['gate', '--keys', '1000000', '--rounds', '3', '--requests', '0'],
  ['gate-cores'],
  ['gate-limits'],
  ['functions', '--only', 'warm'],
  ['lists'],
  ['acceptance'],
  ['history'],
  ['controllers-at-size'],
];

/**
 * Runs the benches that need no running platform, one after the other, and writes their figures, with the machine and the
 * commit, into docs/explanation/performance.md. Takes about two hours, on a machine that does nothing else.
 * `--only <name>`, repeated, leaves out the others.
 */
export async function run(args: string[]): Promise<void> {
  const { values } = parseArgs({ args, options: { only: { type: 'string', multiple: true } } });
  const runs: BenchRun[] = [];
  for (const command of commands) {
    if (values.only && !values.only.includes(command[0] ?? '')) continue;
    runs.push(await runBench(command));
    writeFileSync(page, withRun(readFileSync(page, 'utf8'), runs, conditions()));
  }
}

async function runBench(command: readonly string[]): Promise<BenchRun> {
  process.stderr.write(`bench ${command.join(' ')}\n`);
  const child = spawn(process.execPath, [join(import.meta.dirname, 'main.ts'), ...command], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = once(child, 'exit');
  const output = await text(child.stdout);
  const [code] = (await ended) as [number | null];
  process.stdout.write(output);
  const problem =
    code === 0 ? undefined : code === busyMachineCode ? 'not measured, because the machine was busy' : 'failed';
  return { command: command.join(' '), output, ...(problem !== undefined && { problem }) };
}

function conditions() {
  const git = (...words: string[]) => execFileSync('git', words, { cwd: root, encoding: 'utf8' }).trim();
  const changed = git('status', '--porcelain', '--', ':!docs') === '' ? '' : ' with changes';
  const model = cpus()[0]?.model ?? 'an unknown processor';
  return {
    machine: `${availableParallelism()} processors (${model}) with ${Math.round(totalmem() / 2 ** 30)} GB of memory`,
    commit: `${git('rev-parse', '--short=8', 'HEAD')}${changed}`,
    day: new Date().toISOString().slice(0, 10),
  };
}
