import type { Pod } from '../../../runtime/contracts/pod.ts';
import { kinds } from '../../../runtime/contracts/resources/kinds.ts';
import { appLabel, systemNamespace } from '../../../runtime/domain/labels.ts';
import type { KubeClient } from '../../../runtime/kube/kube-client.ts';

/** The metrics of svc-controllers at one moment. */
export interface Sample {
  /** Identifies the process life: the name of its pod. */
  pod: string;
  /** Requests to the API server that write, except the Lease's and Events'. */
  writes: number;
  /** Requests that read; a watch counts when it begins. */
  reads: number;
  /** Passes that ended, of all controllers. */
  passes: number;
  /** Keys that wait or are in progress. */
  busy: boolean;
  residentBytes: number;
  cpuSeconds: number;
  /** Since the process began, in ms. */
  ageMs: number;
  /** Requests by method and resource, to explain a figure. */
  requests: Record<string, number>;
}

interface Line {
  name: string;
  labels: Record<string, string>;
  value: number;
}

function parse(text: string): Line[] {
  return text.split('\n').flatMap((line) => {
    const match = /^([a-z_]+)(?:\{(.*)\})? (\S+)$/.exec(line);
    if (!match) return [];
    const labels = Object.fromEntries(
      [...(match[2] ?? '').matchAll(/(\w+)="([^"]*)"/g)].map(([, key, value]) => [key, value]),
    );
    return [{ name: match[1] ?? '', labels, value: Number(match[3]) }];
  });
}

/** The metrics of a process; undefined while it does not answer. */
async function linesOf(origin: string): Promise<Line[] | undefined> {
  const response = await fetch(`${origin}/metrics`, { signal: AbortSignal.timeout(5_000) }).catch(() => undefined);
  return response?.ok ? parse(await response.text()) : undefined;
}

/** The metrics of the running pod of a platform process; undefined while none answers. */
async function metricsOf(kube: KubeClient, process: string): Promise<{ pod: string; lines: Line[] } | undefined> {
  const selection = { namespace: systemNamespace, labelSelector: `${appLabel}=${process}` };
  const { items } = await kube.list<Pod>(kinds.Pod, selection);
  const pod = items.find(({ metadata, status }) => metadata.deletionTimestamp === undefined && status?.podIP);
  if (!pod) return undefined;
  const port = pod.spec.containers
    .flatMap(({ ports = [] }) => ports)
    .find(({ name }) => name === 'admin')?.containerPort;
  const lines = await linesOf(`http://${pod.status?.podIP}:${port}`);
  return lines && { pod: pod.metadata.name, lines };
}

/** The resident memory of a platform process. @throws Error when none answers */
export async function residentBytes(kube: KubeClient, process: string): Promise<number> {
  const sample = (await metricsOf(kube, process))?.lines.find(({ name }) => name === 'process_resident_memory_bytes');
  if (!sample) throw new Error(`${process} does not answer`);
  return sample.value;
}

/** Reads the metrics of the running pod of svc-controllers; undefined while none answers. */
export async function samplePod(kube: KubeClient): Promise<Sample | undefined> {
  const metrics = await metricsOf(kube, 'svc-controllers');
  return metrics && sampleOf(metrics.pod, metrics.lines);
}

/** Reads the metrics of an svc-controllers without a pod; undefined while it does not answer. */
export async function sampleProcess(name: string, origin: string): Promise<Sample | undefined> {
  const lines = await linesOf(origin);
  return lines && sampleOf(name, lines);
}

function sampleOf(pod: string, lines: readonly Line[]): Sample {
  const sum = (name: string, holds: (labels: Record<string, string>) => boolean = () => true) =>
    lines.filter((line) => line.name === name && holds(line.labels)).reduce((all, { value }) => all + value, 0);
  const isWrite = ({ method, resource }: Record<string, string>) =>
    method !== 'GET' && resource !== 'leases' && resource !== 'events';
  const requests: Record<string, number> = {};
  for (const { name, labels, value } of lines) {
    if (name !== 'rest_client_requests_total') continue;
    const key = `${labels['method']} ${labels['resource']}`;
    requests[key] = (requests[key] ?? 0) + value;
  }
  return {
    pod,
    writes: sum('rest_client_requests_total', isWrite),
    reads: sum('rest_client_requests_total', ({ method }) => method === 'GET'),
    passes: sum('controller_runtime_reconcile_total'),
    busy: sum('workqueue_depth') > 0 || sum('workqueue_longest_running_processor_seconds') > 0,
    residentBytes: sum('process_resident_memory_bytes'),
    cpuSeconds: sum('process_cpu_seconds_total'),
    ageMs: Date.now() - sum('process_start_time_seconds') * 1000,
    requests,
  };
}
