import type { V1ConfigMap } from '@kubernetes/client-node';
import { kinds } from '../../../runtime/contracts/resources/kinds.ts';
import { monitoringNamespace } from '../../../runtime/domain/monitoring.ts';
import type { ComponentSettings, MonitoringComponent } from './component.ts';
import { componentPolicy } from './network.ts';
import {
  componentObject,
  componentPod,
  componentService,
  componentStatefulSet,
  configurationDigest,
} from './objects.ts';

const self = { name: 'alertmanager', namespace: monitoringNamespace } as const;
const port = 9093;
const dataPath = '/alertmanager';

/** Its address for processes of the platform. */
export const alertmanagerUrl = `http://${self.name}.${self.namespace}.svc:${port}`;

/**
 * Routing is off: there is one receiver, which sends nothing. Alerts are listed and silenced through the API, and
 * platform notifications send them.
 */
const configuration = { route: { receiver: 'none', group_by: ['alertname'] }, receivers: [{ name: 'none' }] };
// JSON is YAML.
const files = { 'alertmanager.yml': JSON.stringify(configuration, undefined, 2) };

/** Alertmanager, which keeps silences over restarts. Its ServiceAccount is made by `svc install`. Pure. */
export const alertmanager: MonitoringComponent = {
  ...self,
  objects: (settings) => [
    componentPolicy(self),
    componentObject<V1ConfigMap>(self, kinds.ConfigMap, self.name, { data: files }),
    componentService(self, self.name, { port, targetPort: 'metrics' }),
    componentStatefulSet(self, self.name, { template: podTemplate(settings), storage: '1Gi' }),
  ],
};

function podTemplate(settings: ComponentSettings) {
  return componentPod(self.name, settings, {
    digest: configurationDigest(files),
    requests: { cpu: '10m' },
    container: {
      args: [
        '--config.file=/etc/alertmanager/alertmanager.yml',
        `--storage.path=${dataPath}`,
        `--web.listen-address=:${port}`,
        // There is one replica, so it needs no port for others.
        '--cluster.listen-address=',
        '--data.retention=120h',
      ],
      ports: [{ name: 'metrics', containerPort: port, protocol: 'TCP' }],
      readinessProbe: { httpGet: { path: '/-/ready', port: 'metrics' }, periodSeconds: 5 },
      livenessProbe: { httpGet: { path: '/-/healthy', port: 'metrics' }, periodSeconds: 20, failureThreshold: 6 },
      volumeMounts: [
        { name: 'data', mountPath: dataPath },
        { name: 'configuration', mountPath: '/etc/alertmanager', readOnly: true },
      ],
    },
    pod: { volumes: [{ name: 'configuration', configMap: { name: self.name } }] },
  });
}
