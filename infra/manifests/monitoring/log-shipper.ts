import { shipperNamespace } from '../../../runtime/domain/monitoring.ts';
import { logStoreSecret, logStoreUrl } from '../platform/log-store-secrets.ts';
import type { ComponentSettings, MonitoringComponent } from './component.ts';
import { componentPolicy } from './network.ts';
import { componentDaemonSet, componentPod } from './objects.ts';

const self = { name: 'log-shipper', namespace: shipperNamespace } as const;

const logsPath = '/var/log/pods';
const statePath = '/var/lib/svc-log-shipper';
const secretPath = '/var/run/svc/log-store';
const health = { path: '/health', port: 'admin' };

/**
 * Keeps the process below 64 MB: the compilers of V8 that produce fast code take 10 MB, and the shipper needs a fortieth of
 * a core without them.
 */
export const shipperArguments = [
  '--optimize-for-size',
  '--no-opt',
  '--no-maglev',
  '--no-sparkplug',
  '--max-semi-space-size=1',
  '--max-old-space-size=40',
  // It asks for collections itself, since V8 lets the buffers of former batches wait for a larger heap.
  '--expose-gc',
  'runtime/logs/ship/main.ts',
];

/**
 * glibc uses one arena, and returns large blocks to the system instead of keeping them.
 * https://www.gnu.org/software/libc/manual/html_node/Memory-Allocation-Tunables.html
 */
export const shipperVariables = {
  MALLOC_ARENA_MAX: '1',
  MALLOC_MMAP_THRESHOLD_: '65536',
  MALLOC_TRIM_THRESHOLD_: '65536',
} as const;

/**
 * The log shipper on every node. The kubelet's folder of logs belongs to root, so it runs as root, without capabilities and
 * with a read-only root file system. Pure.
 */
export const logShipper: MonitoringComponent = {
  ...self,
  objects: (settings) => [
    componentPolicy(self),
    // Its positions are on the node, so a pause loses nothing.
    componentDaemonSet(self, podTemplate(settings)),
  ],
};

function podTemplate(settings: ComponentSettings) {
  return componentPod(self.name, settings, {
    // Less than half of the limit, which it needs only for an hour of lines at once.
    requests: { memory: '32Mi' },
    container: {
      command: ['tini', '--', 'node', ...shipperArguments],
      env: [
        { name: 'NODE_NAME', valueFrom: { fieldRef: { fieldPath: 'spec.nodeName' } } },
        { name: 'POD_LOGS_FOLDER', value: logsPath },
        { name: 'STATE_FOLDER', value: statePath },
        { name: 'LOG_STORE_URL', value: logStoreUrl },
        { name: 'LOG_STORE_TOKEN_FILE', value: `${secretPath}/${logStoreSecret.appendKey}` },
        // Of the image (infra/images/platform).
        { name: 'NODE_COMPILE_CACHE', value: '/app/compiled' },
        ...Object.entries(shipperVariables).map(([name, value]) => ({ name, value })),
      ],
      ports: [{ name: 'admin', containerPort: 8081, protocol: 'TCP' }],
      startupProbe: { httpGet: health, periodSeconds: 1, failureThreshold: 60 },
      readinessProbe: { httpGet: { path: '/ready', port: 'admin' }, periodSeconds: 10, timeoutSeconds: 5 },
      livenessProbe: { httpGet: health, periodSeconds: 20, timeoutSeconds: 5, failureThreshold: 6 },
      volumeMounts: [
        { name: 'logs', mountPath: logsPath, readOnly: true },
        { name: 'state', mountPath: statePath },
        { name: 'token', mountPath: secretPath, readOnly: true },
      ],
    },
    pod: {
      automountServiceAccountToken: true,
      securityContext: { runAsUser: 0, runAsGroup: 0, seccompProfile: { type: 'RuntimeDefault' } },
      // Nodes with taints run pods, too.
      tolerations: [{ operator: 'Exists' }],
      volumes: [
        { name: 'logs', hostPath: { path: logsPath, type: 'Directory' } },
        { name: 'state', hostPath: { path: statePath, type: 'DirectoryOrCreate' } },
        { name: 'token', secret: { secretName: logStoreSecret.name, defaultMode: 0o400 } },
      ],
    },
  });
}
