import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createCollector } from '../../../runtime/metrics/collector.ts';
import { createRingStore } from '../../../runtime/metrics/ring-store.ts';
import { openRing } from '../../../runtime/metrics/ring.ts';
import { median, printFigure } from '../figure.ts';

const workloads = 200;
const collections = 240;
const start = 1_767_225_600;

/** The ring of metrics, full: one collection of all series, and the questions of a member. */
export async function ringFigures(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'svc-bench-ring-'));
  const ring = openRing({ path: join(folder, 'metrics.ring') });
  try {
    const collector = createCollector(ring);
    const times: number[] = [];
    for (let round = 1; round <= collections; round++) {
      const text = exposition(round);
      const from = performance.now();
      collector.add('process', text, start + round * 15);
      times.push(performance.now() - from);
    }
    const now = start + collections * 15;
    const store = createRingStore({ ring, now: () => now });
    const timed = async (question: () => Promise<unknown>) => {
      const taken: number[] = [];
      for (let round = 0; round < 20; round++) {
        const from = performance.now();
        await question();
        taken.push(performance.now() - from);
      }
      return median(taken);
    };
    const target = { namespace: 'env-1', kind: 'app', name: 'app-1' } as const;
    const hour = await timed(() => store.workload(target, { from: now - 3_600, to: now, step: 60 }));
    const top = await timed(() => store.namespace('env-1', now));
    printFigure({ name: 'monitoring.ring.series', value: ring.stats().series, unit: 'series' });
    printFigure({
      name: 'monitoring.ring.collect',
      value: median(times),
      unit: 'ms',
      target: { operator: '<', value: 100 },
    });
    printFigure({ name: 'monitoring.ring.workload', value: hour, unit: 'ms', target: { operator: '<', value: 50 } });
    printFigure({ name: 'monitoring.ring.top', value: top, unit: 'ms', target: { operator: '<', value: 50 } });
  } finally {
    ring.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** About 4,000 series, in ten namespaces. */
function exposition(round: number): string {
  const lines: string[] = [];
  for (let index = 0; index < workloads; index++) {
    const labels = `namespace="env-${index % 10}",kind="app",name="app-${index}"`;
    for (const code of ['2xx', '4xx', '5xx']) lines.push(`svc_requests_total{${labels},code="${code}"} ${round * 10}`);
    for (const bound of ['0.01', '0.025', '0.05', '0.1', '0.25', '0.5', '1', '2.5', '5', '10', '60', '+Inf']) {
      lines.push(`svc_request_duration_seconds_bucket{${labels},le="${bound}"} ${round * 10}`);
    }
    lines.push(`svc_workload_cpu_seconds_total{${labels}} ${round}`, `svc_workload_memory_bytes{${labels}} 1000`);
    lines.push(`svc_workload_replicas{${labels}} 1`, `svc_workload_ready_replicas{${labels}} 1`);
    lines.push(`svc_workload_restarts_total{${labels}} 0`);
  }
  return lines.join('\n');
}
