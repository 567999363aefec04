/** The requests that an API server has answered, of all clients. */
export interface RequestCounts {
  reads: number;
  writes: number;
  /** By verb and resource. */
  each: Readonly<Record<string, number>>;
  /** The processor time that it has used. */
  cpuSeconds: number;
}

const reading: ReadonlySet<string> = new Set(['GET', 'LIST', 'WATCH']);
const writing: ReadonlySet<string> = new Set(['POST', 'PUT', 'PATCH', 'APPLY', 'DELETE', 'DELETECOLLECTION']);

/**
 * Reads `apiserver_request_total` and the processor time from the text of `/metrics`, without the requests for leases,
 * which depend on time only.
 */
export function requestCounts(metrics: string): RequestCounts {
  const each: Record<string, number> = {};
  let reads = 0;
  let writes = 0;
  for (const line of metrics.split('\n')) {
    const match = /^apiserver_request_total\{(.*)\} (\S+)$/.exec(line);
    if (!match) continue;
    const label = (key: string) => new RegExp(`(?:^|,)${key}="([^"]*)"`).exec(match[1] ?? '')?.[1] ?? '';
    const verb = label('verb');
    const resource = label('resource');
    if (resource === '' || resource === 'leases') continue;
    const count = Number(match[2]);
    if (reading.has(verb)) reads += count;
    else if (writing.has(verb)) writes += count;
    const subresource = label('subresource');
    const key = `${verb} ${resource}${subresource === '' ? '' : `/${subresource}`}`;
    each[key] = (each[key] ?? 0) + count;
  }
  const cpuSeconds = Number(/^process_cpu_seconds_total (\S+)$/m.exec(metrics)?.[1]);
  return { reads, writes, each, cpuSeconds };
}
