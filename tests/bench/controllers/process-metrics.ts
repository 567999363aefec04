import type { Pod } from '../../../runtime/contracts/pod.ts';
import { kinds } from '../../../runtime/contracts/resources/kinds.ts';
import { appLabel, systemNamespace } from '../../../runtime/domain/labels.ts';
import type { KubeClient } from '../../../runtime/kube/kube-client.ts';

/** The metrics of svc-controllers at one moment. */
export interface Sample {
  /** Identifies the process life. */
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

/** The metrics of the running pod of a platform process; undefined while none answers. */
async function metricsOf(kube: KubeClient, process: string): Promise<{ pod: string; lines: Line[] } | undefined> {
  const selection = { namespace: systemNamespace, labelSelector: `${appLabel}=${process}` };
  const { items } = await kube.list<Pod>(kinds.Pod, selection);
  const pod = items.find(({ metadata, status }) => metadata.deletionTimestamp === undefined && status?.podIP);
  if (!pod) return undefined;
  const port = pod.spec.containers
    .flatMap(({ ports = [] }) => ports)
    .find(({ name }) => name === 'admin')?.containerPort;
  const url = `http://${pod.status?.podIP}:${port}/metrics`;
  const response = await fetch(url, { signal: AbortSignal.timeout(5_000) }).catch(() => undefined);
  if (!response?.ok) return undefined;
  return { pod: pod.metadata.name, lines: parse(await response.text()) };
}

/** The resident memory of a platform process. @throws Error when none answers */
export async function residentBytes(kube: KubeClient, process: string): Promise<number> {
  const sample = (await metricsOf(kube, process))?.lines.find(({ name }) => name === 'process_resident_memory_bytes');
  if (!sample) throw new Error(`${process} does not answer`);
  return sample.value;
}

/** Reads the metrics of the running pod; undefined while none answers. */
export async function sample(kube: KubeClient): Promise<Sample | undefined> {
  const metrics = await metricsOf(kube, 'svc-controllers');
  if (!metrics) return undefined;
  const { pod, lines } = metrics;
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
    ageMs: Date.now() - sum('process_start_time_seconds') * 1000,
    requests,
  };
}
