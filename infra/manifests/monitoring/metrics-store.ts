import type { V1ConfigMap } from '@kubernetes/client-node';
import { kinds } from '../../../runtime/contracts/resources/kinds.ts';
import { monitoringNamespace } from '../../../runtime/domain/monitoring.ts';
import { parseBytes } from '../../../runtime/domain/quantity.ts';
import { alertRules } from './alert-rules.ts';
import type { ComponentSettings, MonitoringComponent } from './component.ts';
import { componentPolicy } from './network.ts';
import {
  componentObject,
  componentPod,
  componentService,
  componentStatefulSet,
  configurationDigest,
} from './objects.ts';
import { prometheusConfiguration } from './scrape-configuration.ts';

const self = { name: 'metrics-store', namespace: monitoringNamespace } as const;
const objectName = 'prometheus';
const dataPath = '/prometheus';

/** The size of the claim. Three days of 15,000 series are about 400 MB. */
const storage = '5Gi';
/** Below the claim's size: Prometheus deletes the oldest data, instead of stopping on a full disk. */
const maxData = '4GB';

/** Files with rules, by name, beside the configuration. */
const ruleFiles: Readonly<Record<string, object>> = { 'alerts.yaml': alertRules() };

/**
 * Prometheus. Pure.
 * @param options.ingressMetrics the address of the ingress's metrics, if they are collected
 */
export function metricsStore(options: { ingressMetrics?: string | undefined }): MonitoringComponent {
  const data = {
    // JSON is YAML.
    'prometheus.yaml': JSON.stringify(prometheusConfiguration(options), undefined, 2),
    ...Object.fromEntries(
      Object.entries(ruleFiles).map(([name, rules]) => [name, JSON.stringify(rules, undefined, 2)]),
    ),
  };
  return {
    ...self,
    objects: (settings) => [
      componentPolicy(self),
      componentObject<V1ConfigMap>(self, kinds.ConfigMap, objectName, { data }),
      componentService(self, objectName, { port: 9090, targetPort: 'metrics' }),
      componentStatefulSet(self, objectName, { template: podTemplate(settings, configurationDigest(data)), storage }),
    ],
  };
}

function podTemplate(settings: ComponentSettings, digest: string) {
  return componentPod(self.name, settings, {
    digest,
    container: {
      args: [
        '--config.file=/etc/prometheus/prometheus.yaml',
        `--storage.tsdb.path=${dataPath}`,
        '--storage.tsdb.retention.time=3d',
        `--storage.tsdb.retention.size=${maxData}`,
        '--web.listen-address=:9090',
        // What one query may use: the memory of Prometheus is also that of the alerts.
        '--query.timeout=30s',
        '--query.max-concurrency=8',
        '--query.max-samples=5000000',
      ],
      // Collects garbage before the limit is reached, instead of being killed.
      env: [{ name: 'GOMEMLIMIT', value: String(Math.floor((parseBytes(settings.memory) ?? 0) * 0.9)) }],
      ports: [{ name: 'metrics', containerPort: 9090, protocol: 'TCP' }],
      // Reading the log of what is not compacted yet takes up to minutes.
      startupProbe: { httpGet: { path: '/-/ready', port: 'metrics' }, periodSeconds: 2, failureThreshold: 450 },
      readinessProbe: { httpGet: { path: '/-/ready', port: 'metrics' }, periodSeconds: 5 },
      livenessProbe: { httpGet: { path: '/-/healthy', port: 'metrics' }, periodSeconds: 20, failureThreshold: 6 },
      volumeMounts: [
        { name: 'data', mountPath: dataPath },
        { name: 'configuration', mountPath: '/etc/prometheus', readOnly: true },
      ],
    },
    pod: {
      // Writes what is in memory to disk.
      terminationGracePeriodSeconds: 120,
      volumes: [{ name: 'configuration', configMap: { name: objectName } }],
    },
  });
}
