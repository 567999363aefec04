import { Counter, Gauge, type Registry } from 'prom-client';
import { workloadMetrics } from '../../runtime/metrics/figures.ts';
import type { MetricWorkload } from '../../runtime/metrics/workload-of.ts';
import type { Counts } from './workload-counts.ts';
import type { WorkloadUsage } from './workload-usage.ts';

const labelNames = ['namespace', 'kind', 'name'] as const;

/**
 * Exports the counts and the usage of workloads. Series exist only for workloads that exist: all are made anew for each
 * collection.
 */
export function exportWorkloads(registry: Registry, sources: { counts: Counts; usage: () => WorkloadUsage[] }): void {
  const registers = [registry];
  const common = { labelNames, registers };
  const gauge = (name: string, help: string) => new Gauge({ name, help, ...common });
  const counter = (name: string, help: string) => new Counter({ name, help, ...common });
  const replicas: Gauge<'namespace' | 'kind' | 'name'> = new Gauge({
    name: workloadMetrics.replicas,
    help: 'Pods that a workload should have.',
    ...common,
    // The first to be collected: it sets all the others, too.
    collect() {
      for (const metric of [replicas, ready, restarts, oomKills, cpu, memory]) metric.reset();
      const { workloads, omitted: count } = sources.counts.list();
      for (const workload of workloads) {
        const labels = labelsOf(workload);
        replicas.set(labels, workload.replicas);
        ready.set(labels, workload.readyReplicas);
        restarts.inc(labels, workload.restarts);
        oomKills.inc(labels, workload.oomKills);
      }
      for (const workload of sources.usage()) {
        const labels = labelsOf(workload);
        cpu.inc(labels, workload.cpuSeconds);
        memory.set(labels, workload.memoryBytes);
      }
      omitted.set(count);
    },
  });
  const ready = gauge(workloadMetrics.readyReplicas, 'Ready pods of a workload.');
  const restarts = counter(workloadMetrics.restarts, 'Restarts of containers of a workload.');
  const oomKills = counter(workloadMetrics.oomKills, 'Containers of a workload that were killed for memory.');
  const cpu = counter(workloadMetrics.cpu, 'CPU seconds that a workload has used.');
  const memory = gauge(workloadMetrics.memory, 'Bytes of memory that a workload uses.');
  const omitted = new Gauge({
    name: 'svc_workload_metrics_omitted',
    help: 'Workloads without metrics, because there are too many.',
    registers,
  });
}

function labelsOf({ namespace, kind, name }: MetricWorkload) {
  return { namespace, kind, name };
}
