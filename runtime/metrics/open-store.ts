import type { MetricsStore } from './metrics-store.ts';
import { createPrometheusStore } from './prometheus-store.ts';
import { createRingClient } from './ring-client.ts';

/** The scheme of a ring's address: `ring+http://127.0.0.1:15001`. */
const ringScheme = 'ring+';

/**
 * The MetricsStore at an address: that of a ring, or of a server with Prometheus's HTTP API.
 * @param token returns the token of this process's service account; only a ring gets it
 */
export function openMetricsStore(address: string, token: () => Promise<string>): MetricsStore {
  const url = address.replace(/(?<!\/)\/+$/, '');
  if (url.startsWith(ringScheme)) return createRingClient({ url: url.slice(ringScheme.length), token });
  return createPrometheusStore({ url });
}
