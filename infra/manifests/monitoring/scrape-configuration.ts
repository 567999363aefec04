import { systemNamespace } from '../../../runtime/domain/labels.ts';
import { targetsPath } from '../../../runtime/domain/monitoring.ts';

/** A scrape of Prometheus: https://prometheus.io/docs/prometheus/latest/configuration/configuration/#scrape_config */
interface Scrape {
  job_name: string;
  sample_limit: number;
  http_sd_configs?: { url: string; refresh_interval: string }[];
  static_configs?: { targets: string[] }[];
}

/** Prometheus's configuration file, without the rules. */
interface PrometheusConfiguration {
  global: { scrape_interval: string; scrape_timeout: string; evaluation_interval: string };
  rule_files: string[];
  alerting: { alertmanagers: { static_configs: { targets: string[] }[] }[] };
  scrape_configs: Scrape[];
}

/**
 * A scrape beyond it fails, so that no process can fill the store's memory. The interceptor exports about 40 series for
 * each function, and an ingress about 20 for each of its services.
 */
const sampleLimit = 200_000;

/**
 * Prometheus's configuration: every process of the platform, the components of monitoring, and the ingress. It asks the
 * controllers where the processes are, and while they do not answer, it keeps what it knows. Pure.
 */
export function prometheusConfiguration(options: { ingressMetrics?: string | undefined }): PrometheusConfiguration {
  const { ingressMetrics } = options;
  return {
    global: { scrape_interval: '15s', scrape_timeout: '10s', evaluation_interval: '15s' },
    rule_files: ['/etc/prometheus/alerts.yaml'],
    alerting: { alertmanagers: [{ static_configs: [{ targets: ['alertmanager:9093'] }] }] },
    scrape_configs: [
      {
        // The controllers name the job of each target.
        job_name: 'svc',
        sample_limit: sampleLimit,
        http_sd_configs: [
          { url: `http://svc-controllers.${systemNamespace}.svc:8081${targetsPath}`, refresh_interval: '15s' },
        ],
      },
      ...(ingressMetrics === undefined
        ? []
        : [{ job_name: 'ingress', sample_limit: sampleLimit, static_configs: [{ targets: [ingressMetrics] }] }]),
    ],
  };
}
