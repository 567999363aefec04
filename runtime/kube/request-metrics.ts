import { Counter, type Registry } from 'prom-client';

/** Counts the requests to the API server in client-go's metric, so that its dashboards and alert rules work. */
export interface RequestMetrics {
  /** @param path of the request, without its query @param code the HTTP status, or 0 without a response */
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

/** The plural in a path with its subresource, such as `deployments/scale`; without names, which would be too many series. */
function resourceIn(path: string): string {
  const [, rest = ''] = /^\/(?:api\/[^/]+|apis\/[^/]+\/[^/]+)\/(.*)$/.exec(path) ?? [];
  const parts = rest.split('/');
  const [plural = '', , subresource] = parts[0] === 'namespaces' && parts.length > 2 ? parts.slice(2) : parts;
  return subresource === undefined ? plural : `${plural}/${subresource}`;
}
