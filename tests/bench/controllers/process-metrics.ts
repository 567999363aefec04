import type { Pod } from '../../../runtime/contracts/pod.ts';
import { kinds } from '../../../runtime/contracts/resources/kinds.ts';
import { appLabel, systemNamespace } from '../../../runtime/domain/labels.ts';
import type { KubeClient } from '../../../runtime/kube/kube-client.ts';

/** What svc-controllers tells of itself at one moment. */
export interface Sample {
  /** Names the process life. */
  pod: string;
  /** Requests to the API server that write, but for the Lease's and Events'. */
  writes: number;
  /** Requests that read; a watch counts when it begins. */
  reads: number;
  /** Passes that ended, of all controllers. */
  passes: number;
  /** Keys that wait or are being worked on. */
  busy: boolean;
  residentBytes: number;
  /** Since the process began, in ms. */
  ageMs: number;
  /** Requests by method and resource, for the explanation of a figure. */
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

/** What the running pod of one of the platform's processes tells; undefined while there is none that answers. */
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

/** The resident memory of one of the platform's processes. @throws Error when none answers */
export async function residentBytes(kube: KubeClient, process: string): Promise<number> {
  const found = (await metricsOf(kube, process))?.lines.find(({ name }) => name === 'process_resident_memory_bytes');
  if (!found) throw new Error(`${process} does not answer`);
  return found.value;
}

/** Asks the running pod; undefined while there is none that answers. */
export async function sample(kube: KubeClient): Promise<Sample | undefined> {
  const found = await metricsOf(kube, 'svc-controllers');
  if (!found) return undefined;
  const { pod, lines } = found;
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
