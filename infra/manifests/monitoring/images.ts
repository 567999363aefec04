import type { ComponentName } from './component.ts';

/**
 * The upstream images of the components, by the digest of their list of platforms. The log store and the shipper are
 * parts of the platform's image. `svc install --image-metrics-store` and its like replace them.
 */
export const upstreamImages: Readonly<Partial<Record<ComponentName, string>>> = {
  'metrics-store':
    'quay.io/prometheus/prometheus:v3.5.0@sha256:63805ebb8d2b3920190daf1cb14a60871b16fd38bed42b857a3182bc621f4996',
  'node-exporter':
    'quay.io/prometheus/node-exporter:v1.9.1@sha256:d00a542e409ee618a4edc67da14dd48c5da66726bbd5537ab2af9c1dfc442c8a',
  alertmanager:
    'quay.io/prometheus/alertmanager:v0.28.1@sha256:27c475db5fb156cab31d5c18a4251ac7ed567746a2483ff264516437a39b15ba',
  dashboards:
    'docker.io/grafana/grafana:12.1.1@sha256:a1701c2180249361737a99a01bc770db39381640e4d631825d38ff4535efa47d',
};
