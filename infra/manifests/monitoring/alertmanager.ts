import { createHash } from 'node:crypto';
import type { V1ConfigMap, V1Service, V1StatefulSet } from '@kubernetes/client-node';
import type { Json } from '../../../runtime/contracts/kubernetes.ts';
import { kinds, type ResourceKind } from '../../../runtime/contracts/resources/kinds.ts';
import { apiGroup, appLabel, managedLabels } from '../../../runtime/domain/labels.ts';
import { formatBytes, parseBytes } from '../../../runtime/domain/quantity.ts';
import type { Manifest } from '../platform/object.ts';
import { containerSecurity, podSecurity, resources } from '../platform/pod.ts';
import type { MonitoringComponent } from './component.ts';
import { componentPolicy } from './network.ts';

const name = 'alertmanager';
const namespace = 'monitoring';

/** Its address for processes of the platform. */
export const alertmanagerUrl = `http://${name}.${namespace}.svc:9093`;

const labels = { ...managedLabels(), [appLabel]: name };
const dataPath = '/alertmanager';

/**
 * Routing is off: there is one receiver, which sends nothing. Alerts are listed and silenced through the API, and
 * platform notifications send them.
 */
const configuration = { route: { receiver: 'none', group_by: ['alertname'] }, receivers: [{ name: 'none' }] };

function object<T extends object = never>(
  kind: ResourceKind,
  fields: Omit<Json<NoInfer<T>>, 'apiVersion' | 'kind' | 'metadata'>,
): Manifest {
  return { apiVersion: kind.apiVersion, kind: kind.kind, metadata: { name, namespace, labels }, ...fields };
}

/** Alertmanager, which keeps silences over restarts. Its ServiceAccount is made by `svc install`. Pure. */
export const alertmanager: MonitoringComponent = {
  name,
  namespace,
  objects({ image, memory }) {
    const file = JSON.stringify(configuration, undefined, 2);
    const digest = createHash('sha256').update(file).digest('hex').slice(0, 16);
    const half = formatBytes((parseBytes(memory) ?? 0) / 2);
    return [
      componentPolicy(alertmanager),
      // JSON is YAML.
      object<V1ConfigMap>(kinds.ConfigMap, { data: { 'alertmanager.yml': file } }),
      object<V1Service>(kinds.Service, {
        spec: {
          selector: { [appLabel]: name },
          ports: [{ name: 'metrics', port: 9093, targetPort: 'metrics', protocol: 'TCP' }],
        },
      }),
      object<V1StatefulSet>(kinds.StatefulSet, {
        spec: {
          serviceName: name,
          replicas: 1,
          // In order, a pod that is killed again and again would never be replaced by one with more memory.
          podManagementPolicy: 'Parallel',
          selector: { matchLabels: { [appLabel]: name } },
          template: {
            // It reads its configuration when it starts.
            metadata: { labels, annotations: { [`${apiGroup}/configuration`]: digest } },
            spec: {
              serviceAccountName: name,
              automountServiceAccountToken: false,
              enableServiceLinks: false,
              securityContext: podSecurity(),
              containers: [
                {
                  name,
                  image,
                  args: [
                    '--config.file=/etc/alertmanager/alertmanager.yml',
                    `--storage.path=${dataPath}`,
                    '--web.listen-address=:9093',
                    // There is one replica, so it needs no port for others.
                    '--cluster.listen-address=',
                    '--data.retention=120h',
                  ],
                  ports: [{ name: 'metrics', containerPort: 9093, protocol: 'TCP' }],
                  readinessProbe: { httpGet: { path: '/-/ready', port: 'metrics' }, periodSeconds: 5 },
                  livenessProbe: {
                    httpGet: { path: '/-/healthy', port: 'metrics' },
                    periodSeconds: 20,
                    failureThreshold: 6,
                  },
                  resources: resources({ cpu: '10m', memory: half }, memory),
                  securityContext: containerSecurity,
                  volumeMounts: [
                    { name: 'data', mountPath: dataPath },
                    { name: 'configuration', mountPath: '/etc/alertmanager', readOnly: true },
                  ],
                },
              ],
              volumes: [{ name: 'configuration', configMap: { name } }],
            },
          },
          volumeClaimTemplates: [
            {
              metadata: { name: 'data', labels },
              spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
            },
          ],
        },
      }),
    ];
  },
};
