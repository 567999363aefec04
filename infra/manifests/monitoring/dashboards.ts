import type { V1ConfigMap, V1Deployment } from '@kubernetes/client-node';
import { kinds } from '../../../runtime/contracts/resources/kinds.ts';
import { appLabel } from '../../../runtime/domain/labels.ts';
import { monitoringNamespace } from '../../../runtime/domain/monitoring.ts';
import { secretMounts, secretVolumes } from '../platform/pod.ts';
import { secretFile } from '../platform/secrets.ts';
import type { ComponentSettings, MonitoringComponent } from './component.ts';
import { dashboardDefinitions, datasourceId } from './dashboard-definitions.ts';
import { toGrafana } from './grafana-dashboard.ts';
import { componentPolicy } from './network.ts';
import { componentObject, componentPod, componentService, configurationDigest } from './objects.ts';

const self = { name: 'dashboards', namespace: monitoringNamespace } as const;
const objectName = 'grafana';

const provisioning = {
  'datasource.yaml': {
    apiVersion: 1,
    datasources: [
      {
        uid: datasourceId,
        name: 'Metrics',
        type: 'prometheus',
        access: 'proxy',
        url: 'http://prometheus:9090',
        isDefault: true,
        editable: false,
        jsonData: { timeInterval: '15s' },
      },
    ],
  },
  'dashboards.yaml': {
    apiVersion: 1,
    providers: [
      { name: 'svc', folder: 'svc', type: 'file', allowUiUpdates: false, options: { path: '/var/lib/svc/dashboards' } },
    ],
  },
};

/** Grafana, for admins: it has no public route, and its only user is `admin`. Its data is all in these objects. */
export const dashboards: MonitoringComponent = {
  ...self,
  objects: (settings) => {
    const files = {
      ...textsOf(provisioning),
      ...textsOf(Object.fromEntries(dashboardDefinitions.map((each) => [`${each.id}.json`, toGrafana(each)]))),
    };
    return [
      componentPolicy(self),
      componentObject<V1ConfigMap>(self, kinds.ConfigMap, objectName, { data: files }),
      componentService(self, objectName, { port: 80, targetPort: 'http' }),
      componentObject<V1Deployment>(self, kinds.Deployment, objectName, {
        spec: {
          replicas: 1,
          selector: { matchLabels: { [appLabel]: self.name } },
          template: podTemplate(settings, files),
        },
      }),
    ];
  },
};

function podTemplate(settings: ComponentSettings, files: Readonly<Record<string, string>>) {
  const variables = {
    GF_SECURITY_ADMIN_USER: 'admin',
    GF_USERS_ALLOW_SIGN_UP: 'false',
    GF_AUTH_ANONYMOUS_ENABLED: 'false',
    // Nothing leaves the cluster.
    GF_ANALYTICS_REPORTING_ENABLED: 'false',
    GF_ANALYTICS_CHECK_FOR_UPDATES: 'false',
    GF_ANALYTICS_CHECK_FOR_PLUGIN_UPDATES: 'false',
    GF_PLUGINS_PUBLIC_KEY_RETRIEVAL_DISABLED: 'true',
    GF_LOG_MODE: 'console',
    GF_UNIFIED_ALERTING_ENABLED: 'false',
  };
  return componentPod(self.name, settings, {
    digest: configurationDigest(files),
    container: {
      env: [
        ...Object.entries(variables).map(([name, value]) => ({ name, value })),
        { name: 'GF_SECURITY_ADMIN_PASSWORD__FILE', value: secretFile('dashboards') },
      ],
      ports: [{ name: 'http', containerPort: 3000, protocol: 'TCP' }],
      startupProbe: { httpGet: { path: '/api/health', port: 'http' }, periodSeconds: 5, failureThreshold: 60 },
      readinessProbe: { httpGet: { path: '/api/health', port: 'http' }, periodSeconds: 10 },
      volumeMounts: [
        { name: 'data', mountPath: '/var/lib/grafana' },
        { name: 'tmp', mountPath: '/tmp' },
        ...secretMounts(['dashboards']),
        { name: 'datasources', mountPath: '/etc/grafana/provisioning/datasources', readOnly: true },
        { name: 'providers', mountPath: '/etc/grafana/provisioning/dashboards', readOnly: true },
        { name: 'dashboards', mountPath: '/var/lib/svc/dashboards', readOnly: true },
      ],
    },
    pod: {
      volumes: [
        { name: 'data', emptyDir: { sizeLimit: '256Mi' } },
        { name: 'tmp', emptyDir: { sizeLimit: '64Mi' } },
        ...secretVolumes(['dashboards']),
        fileVolume('datasources', ['datasource.yaml']),
        fileVolume('providers', ['dashboards.yaml']),
        fileVolume(
          'dashboards',
          dashboardDefinitions.map(({ id }) => `${id}.json`),
        ),
      ],
    },
  });
}

function fileVolume(name: string, files: readonly string[]) {
  return { name, configMap: { name: objectName, items: files.map((file) => ({ key: file, path: file })) } };
}

/** Each value as JSON, which is YAML too. */
function textsOf(files: Readonly<Record<string, unknown>>): Record<string, string> {
  return Object.fromEntries(Object.entries(files).map(([name, content]) => [name, JSON.stringify(content)]));
}
