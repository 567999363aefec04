import { monitoringNamespace } from '../../../runtime/domain/monitoring.ts';
import type { ComponentSettings, MonitoringComponent } from './component.ts';
import { componentPolicy } from './network.ts';
import { componentDaemonSet, componentPod } from './objects.ts';

const self = { name: 'node-exporter', namespace: monitoringNamespace } as const;

/** An empty folder on the disk of the kubelet, which shows how full that disk is. */
const diskPath = '/node-disk';

/**
 * Prometheus's node exporter on every node. It mounts nothing of the node and needs no rights on it: `/proc` and `/sys`
 * show the CPU, the memory, the load and the disks of the node to every container, and a volume of the pod lies on the
 * node's disk. Only network interfaces are those of the pod, so they are left out.
 */
export const nodeExporter: MonitoringComponent = {
  ...self,
  objects: (settings) => [componentPolicy(self), componentDaemonSet(self, podTemplate(settings))],
};

function podTemplate(settings: ComponentSettings) {
  return componentPod(self.name, settings, {
    container: {
      args: [
        '--web.listen-address=:9100',
        '--collector.disable-defaults',
        ...['cpu', 'diskstats', 'filesystem', 'loadavg', 'meminfo', 'pressure', 'stat', 'time', 'uname', 'vmstat'].map(
          (collector) => `--collector.${collector}`,
        ),
        // The other mounts of the container are files of the kubelet.
        `--collector.filesystem.mount-points-exclude=^/($|[^n]|n($|[^o]))`,
        '--web.max-requests=4',
      ],
      ports: [{ name: 'metrics', containerPort: 9100, protocol: 'TCP' }],
      readinessProbe: { httpGet: { path: '/', port: 'metrics' }, periodSeconds: 10 },
      volumeMounts: [{ name: 'disk', mountPath: diskPath, readOnly: true }],
    },
    pod: {
      // Nodes with taints, such as those of the control plane, are nodes to watch as well.
      tolerations: [{ operator: 'Exists' }],
      volumes: [{ name: 'disk', emptyDir: {} }],
    },
  });
}
