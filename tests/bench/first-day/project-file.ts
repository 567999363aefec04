import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { runningPlatform, uniqueName } from '../../support/platform.ts';
import { median, printFigure } from '../figure.ts';

/** Objects of each kind, without pods. */
const counts = { jobs: 700, plans: 200, volumes: 100 };
const rounds = 5;

function named<Value>(prefix: string, count: number, value: (index: number) => Value): Record<string, Value> {
  return Object.fromEntries(Array.from({ length: count }, (_, index) => [`${prefix}${index}`, value(index)]));
}

/**
 * `svc diff` of a project file with 1,000 objects that exist, in a new process, on a running platform (`SVC_HOME`); and what
 * `svc apply` took to create them.
 */
export async function run(): Promise<void> {
  const platform = await runningPlatform();
  const project = uniqueName('bench');
  const folder = mkdtempSync(join(tmpdir(), 'svc-project-file-'));
  const file = join(folder, 'svc.yaml');
  writeFileSync(
    file,
    stringify({
      project,
      environments: { prod: {} },
      jobs: named('job', counts.jobs, (index) => ({
        image: 'registry.example.com/shop/report:1',
        retries: index % 3,
        env: { LEVEL: 'info', INDEX: index },
      })),
      plans: named('plan', counts.plans, (index) => ({ requestsPerSecond: index + 1, burst: 10 })),
      volumes: named('volume', counts.volumes, () => ({ size: '1Mi' })),
    }),
  );
  const time = async (args: string[]): Promise<{ ms: number; output: string }> => {
    const startedAt = performance.now();
    const output = await platform.ok([...args, '--file', file]);
    return { ms: performance.now() - startedAt, output };
  };
  try {
    const { ms } = await time(['apply']);
    printFigure({ name: 'first-day.apply-1000', value: ms / 1000, unit: 's' });
    const diffs: number[] = [];
    for (let round = 0; round < rounds; round++) {
      const { ms: duration, output } = await time(['diff']);
      if (!output.includes('1000 unchanged')) throw new Error(`the diff is not empty: ${output.slice(0, 500)}`);
      diffs.push(duration);
    }
    const target = { operator: '<', value: 3_000 } as const;
    printFigure({ name: 'first-day.diff-1000', value: median(diffs), unit: 'ms', target });
  } finally {
    await platform.svc(['project', 'delete', project, '--yes', '--timeout', '20m']);
    rmSync(folder, { recursive: true, force: true });
  }
}
