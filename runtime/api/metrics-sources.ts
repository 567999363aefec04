import type { Pool } from 'pg';
import { platformState } from '../contracts/platform-state.ts';
import type { KubeClient } from '../kube/kube-client.ts';
import { MetricsUnavailable, type IngressMetrics, type MetricsStore } from '../metrics/metrics-store.ts';
import { reportSeconds, readControllerReport } from '../records/controller-reports.ts';
import { readSettingsIfAny } from '../workloads/platform-config.ts';

/** Whether a source of figures works; the message is for people. */
export interface SourceState {
  /** `disabled`: the installation does not have it. */
  status: 'on' | 'unhealthy' | 'disabled';
  message?: string;
}

/** What the figures of workloads need besides the platform: without it, they have no values. */
export interface MetricsSources {
  /** The cluster's metrics API, for CPU and memory; undefined where it is not needed, and while its state is unknown. */
  usage(): Promise<SourceState | undefined>;
  /**
   * The metrics of Traefik, for the requests of apps; undefined as of {@link usage}.
   * @param isAdmin whether the message may name addresses
   */
  ingress(isAdmin: boolean): Promise<SourceState | undefined>;
}

const usageStates: Readonly<Record<string, SourceState>> = {
  available: { status: 'on' },
  absent: {
    status: 'disabled',
    message: 'CPU and memory of workloads are not collected: the cluster has no metrics API; install metrics-server',
  },
  refused: {
    status: 'unhealthy',
    message:
      'CPU and memory of workloads are not collected: the metrics API refuses svc-controllers; run svc install again',
  },
  failing: {
    status: 'unhealthy',
    message: 'CPU and memory of workloads are not collected: the metrics API does not answer; check metrics-server',
  },
};

export function createMetricsSources({
  kube,
  pool,
  store,
}: {
  kube: Pick<KubeClient, 'get'>;
  pool: Pool;
  store: MetricsStore | undefined;
}): MetricsSources {
  /** The embedded cluster measures everything itself. */
  const clusterSettings = async () => {
    if (store === undefined) return undefined;
    const settings = await readSettingsIfAny(kube);
    return settings?.monitoring?.mode === 'embedded' ? undefined : settings;
  };
  return {
    async usage() {
      if (!(await clusterSettings())) return undefined;
      const latest = await readControllerReport(pool);
      if (!latest || latest.ageSeconds > reportSeconds) return undefined;
      const usage = platformState.safeParse(latest.report).data?.usage;
      return usage && usageStates[usage];
    },
    async ingress(isAdmin) {
      const settings = await clusterSettings();
      if (!settings || !store) return undefined;
      let state: IngressMetrics;
      try {
        state = await store.ingress();
      } catch (error) {
        if (error instanceof MetricsUnavailable) return undefined;
        throw error;
      }
      if (state === 'on') return { status: 'on' };
      const address = settings.monitoring?.ingressMetrics;
      const of = isAdmin && address !== undefined ? ` at ${address}` : '';
      const reason =
        state === 'down'
          ? `Traefik does not answer${of}`
          : address === undefined
            ? 'set their address with svc install --ingress-metrics'
            : `there are no metrics of Traefik${of}; enable them in Traefik`;
      return {
        status: state === 'down' ? 'unhealthy' : 'disabled',
        message: `requests of apps are not collected: ${reason}`,
      };
    },
  };
}
