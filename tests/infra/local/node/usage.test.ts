import { execFileSync } from 'node:child_process';
import t from 'tap';
import { createUsageMeter } from '../../../../infra/local/node/usage.ts';
import { parseStat, type ProcessStat } from '../../../../infra/process-record.ts';

const pageBytes = Number(execFileSync('getconf', ['PAGESIZE'], { encoding: 'utf8' }));
const ticks = Number(execFileSync('getconf', ['CLK_TCK'], { encoding: 'utf8' }));

function running(kind: string, name: string, leader: number) {
  const labels = { app: name, 'platform.svc/kind': kind };
  return {
    pod: { metadata: { name: `${name}-1`, namespace: 'shop-prod', labels, uid: 'u', resourceVersion: '1' } },
    leader,
  };
}

function stat(fields: Partial<ProcessStat>): ProcessStat {
  return { state: 'S', parent: 1, group: 0, startTicks: '5', residentPages: 10, cpuTicks: 0, ...fields };
}

const api = '{namespace="shop-prod",kind="app",name="api"}';

t.test('CPU time adds up over pods and never falls; memory is that of all processes', (t) => {
  let table = new Map<number, ProcessStat>();
  const meter = createUsageMeter(() => table);
  table = new Map([
    [100, stat({ group: 100, cpuTicks: 2 * ticks })],
    [101, stat({ group: 100, parent: 100, cpuTicks: ticks, residentPages: 30 })],
    [200, stat({ group: 200, cpuTicks: 7 * ticks })],
  ]);
  const first = meter.measure([running('App', 'api', 100), running('Build', 'x', 200)]);
  t.equal(first, `svc_workload_cpu_seconds_total${api} 3\nsvc_workload_memory_bytes${api} ${40 * pageBytes}\n`);
  // A new pod beside the old one.
  table.set(300, stat({ group: 300, cpuTicks: ticks }));
  t.match(meter.measure([running('App', 'api', 100), running('App', 'api', 300)]), `_total${api} 4\n`);
  // The old one has ended; another process has the same id.
  table.set(100, stat({ group: 100, startTicks: '9', cpuTicks: ticks }));
  table.delete(101);
  t.match(meter.measure([running('App', 'api', 100), running('App', 'api', 300)]), `_total${api} 5\n`);
  t.equal(meter.measure([]), '', 'nothing is kept of a workload without pods');
  t.end();
});

t.test('the times of a process are read from its stat', (t) => {
  const text = '7 (a) b) S 1 7 7 0 -1 0 0 0 0 0 10 20 3 4 20 0 1 0 555 1000 64 0';
  t.match(parseStat(text), { cpuTicks: 37, startTicks: '555', residentPages: 64 });
  t.end();
});
