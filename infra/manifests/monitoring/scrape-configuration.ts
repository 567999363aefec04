import { managedByValue, systemNamespace } from '../../../runtime/domain/labels.ts';
import { monitoringNamespace, shipperNamespace } from '../../../runtime/domain/monitoring.ts';

/** A rule that keeps targets, or copies what Kubernetes says about a pod into a label. */
interface Relabelling {
  source_labels: string[];
  regex?: string;
  target_label?: string;
  action?: 'keep' | 'drop';
}

/** A scrape of Prometheus: https://prometheus.io/docs/prometheus/latest/configuration/configuration/#scrape_config */
interface Scrape {
  job_name: string;
  sample_limit: number;
  kubernetes_sd_configs?: { role: 'pod'; namespaces: { names: string[] } }[];
  static_configs?: { targets: string[] }[];
  relabel_configs?: Relabelling[];
}

/** Prometheus's configuration file, without the rules. */
interface PrometheusConfiguration {
  global: { scrape_interval: string; scrape_timeout: string; evaluation_interval: string };
  rule_files: string[];
  alerting: { alertmanagers: { static_configs: { targets: string[] }[] }[] };
  scrape_configs: Scrape[];
}

/** More samples than the largest process exports; a scrape beyond it fails, so that no process can fill the store. */
const sampleLimit = 50_000;
/** An ingress exports about twenty series for each of its services. */
const ingressSampleLimit = 200_000;

/**
 * The pods of a namespace that have a port with this name. The labels are `process` and `pod` and never `namespace`,
 * `kind` and `name`, which the metrics of workloads have themselves.
 */
function pods(job: string, namespaces: string[], port: string): Scrape {
  const meta = '__meta_kubernetes_pod';
  return {
    job_name: job,
    sample_limit: sampleLimit,
    kubernetes_sd_configs: [{ role: 'pod', namespaces: { names: namespaces } }],
    relabel_configs: [
      { source_labels: [`${meta}_label_app_kubernetes_io_managed_by`], regex: managedByValue, action: 'keep' },
      { source_labels: [`${meta}_container_port_name`], regex: port, action: 'keep' },
      // A pod that has ended keeps its address in Kubernetes.
      { source_labels: [`${meta}_phase`], regex: 'Pending|Succeeded|Failed', action: 'drop' },
      { source_labels: [`${meta}_label_app`], target_label: 'process' },
      { source_labels: [`${meta}_name`], target_label: 'pod' },
      { source_labels: [`${meta}_node_name`], target_label: 'node' },
    ],
  };
}

/** Prometheus's configuration: every process of the platform, the components of monitoring, and the ingress. Pure. */
export function prometheusConfiguration(options: { ingressMetrics?: string | undefined }): PrometheusConfiguration {
  const { ingressMetrics } = options;
  return {
    global: { scrape_interval: '15s', scrape_timeout: '10s', evaluation_interval: '15s' },
    rule_files: ['/etc/prometheus/alerts.yaml'],
    alerting: { alertmanagers: [{ static_configs: [{ targets: ['alertmanager:9093'] }] }] },
    scrape_configs: [
      pods('platform', [systemNamespace], 'admin'),
      // The log store and the shipper are processes of the platform too, with the same port.
      pods('log-components', [monitoringNamespace, shipperNamespace], 'admin'),
      pods('monitoring', [monitoringNamespace], 'metrics'),
      ...(ingressMetrics === undefined
        ? []
        : [{ job_name: 'ingress', sample_limit: ingressSampleLimit, static_configs: [{ targets: [ingressMetrics] }] }]),
    ],
  };
}
