import { Counter, type Registry } from 'prom-client';

/** Counts the requests to the API server under client-go's name, so that known dashboards and alert rules work. */
export interface RequestMetrics {
  /** @param path of the request, without its query @param code the HTTP status, or 0 when no answer came */
  count(method: string, path: string, code: number): void;
}

export function createRequestMetrics(registry: Registry): RequestMetrics {
  const total = new Counter({
    name: 'rest_client_requests_total',
    help: 'Requests to the Kubernetes API.',
    labelNames: ['method', 'resource', 'code'],
    registers: [registry],
  });
  return {
    count: (method, path, code) =>
      total.inc({ method, resource: resourceIn(path), code: code === 0 ? '<error>' : String(code) }),
  };
}

/** The plural in a path, with its subresource: `deployments/scale`. Never a name, so that there are few. */
function resourceIn(path: string): string {
  const [, rest = ''] = /^\/(?:api\/[^/]+|apis\/[^/]+\/[^/]+)\/(.*)$/.exec(path) ?? [];
  const parts = rest.split('/');
  const [plural = '', , subresource] = parts[0] === 'namespaces' && parts.length > 2 ? parts.slice(2) : parts;
  return subresource === undefined ? plural : `${plural}/${subresource}`;
}
