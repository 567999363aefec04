import { monitoringNamespace } from '../../../runtime/domain/monitoring.ts';
import { parseBytes } from '../../../runtime/domain/quantity.ts';
import { logStoreSecret } from '../platform/log-store-secrets.ts';
import type { ComponentSettings, MonitoringComponent } from './component.ts';
import { componentPolicy } from './network.ts';
import { componentPod, componentService, componentStatefulSet } from './objects.ts';

const self = { name: 'log-store', namespace: monitoringNamespace } as const;

const port = 3100;
const dataPath = '/data';
const secretPath = '/var/run/svc/log-store';
const storage = '10Gi';
/** Less than the claim holds: the journal and the blocks that are being written take the rest. */
const maxBytes = 9_000_000_000;

/** The log store, which keeps three days. Its claim is kept when it is disabled, unless the settings delete its data. Pure. */
export const logStore: MonitoringComponent = {
  ...self,
  objects: (settings) => [
    componentPolicy(self),
    componentService(self, self.name, { port, targetPort: 'http' }),
    componentStatefulSet(self, self.name, { template: podTemplate(settings), storage }),
  ],
};

function podTemplate(settings: ComponentSettings) {
  return componentPod(self.name, settings, {
    container: {
      command: ['tini', '--', 'node', 'runtime/logs/main.ts'],
      env: [
        { name: 'PORT', value: String(port) },
        { name: 'LOG_STORE_FOLDER', value: dataPath },
        { name: 'LOG_STORE_MAX_BYTES', value: String(maxBytes) },
        { name: 'LOG_STORE_APPEND_TOKEN_FILE', value: `${secretPath}/${logStoreSecret.appendKey}` },
        { name: 'LOG_STORE_READ_TOKEN_FILE', value: `${secretPath}/${logStoreSecret.readKey}` },
        // Collects garbage before the limit is reached, instead of being killed.
        { name: 'NODE_OPTIONS', value: `--max-old-space-size=${heapMebibytes(settings.memory)}` },
      ],
      ports: [
        { name: 'http', containerPort: port, protocol: 'TCP' },
        { name: 'admin', containerPort: 8081, protocol: 'TCP' },
      ],
      startupProbe: { httpGet: { path: '/health', port: 'admin' }, periodSeconds: 1, failureThreshold: 60 },
      readinessProbe: { httpGet: { path: '/ready', port: 'admin' }, periodSeconds: 5, timeoutSeconds: 2 },
      livenessProbe: {
        httpGet: { path: '/health', port: 'admin' },
        periodSeconds: 20,
        timeoutSeconds: 5,
        failureThreshold: 6,
      },
      volumeMounts: [
        { name: 'data', mountPath: dataPath },
        { name: 'tokens', mountPath: secretPath, readOnly: true },
        { name: 'tmp', mountPath: '/tmp' },
      ],
    },
    pod: {
      // Writes what is in memory to disk.
      terminationGracePeriodSeconds: 60,
      volumes: [
        { name: 'tokens', secret: { secretName: logStoreSecret.name, defaultMode: 0o440 } },
        { name: 'tmp', emptyDir: {} },
      ],
    },
  });
}

/** What Node may use for objects; buffers of batches and blocks take the rest. */
function heapMebibytes(memory: string): number {
  return Math.floor(((parseBytes(memory) ?? 0) / 2 ** 20) * 0.6);
}
