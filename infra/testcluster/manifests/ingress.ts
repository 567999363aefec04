import { durationBuckets } from '../../../runtime/metrics/figures.ts';
import { node, ports, goEnvironment, type IngressPorts } from '../settings.ts';
import type { KubernetesObject } from './object.ts';
import { serviceAccountWithRole } from './object.ts';

const namespace = 'traefik';
const labels = { 'app.kubernetes.io/name': 'traefik' };
const read = ['get', 'list', 'watch'];

const rules = [
  { apiGroups: [''], resources: ['services', 'secrets', 'configmaps', 'nodes'], verbs: read },
  { apiGroups: ['discovery.k8s.io'], resources: ['endpointslices'], verbs: ['list', 'watch'] },
  {
    apiGroups: ['traefik.io'],
    resources: [
      'ingressroutes',
      'ingressroutetcps',
      'ingressrouteudps',
      'middlewares',
      'middlewaretcps',
      'serverstransports',
      'serverstransporttcps',
      'tlsoptions',
      'tlsstores',
      'traefikservices',
    ],
    verbs: read,
  },
];

/** Traefik's command line. Neither cross-namespace references nor ExternalName services, as in k3s. Pure. */
export function traefikParameters(ingress: IngressPorts): string[] {
  return [
    // Pods use the node's address, the machine 127.0.0.1. The firewall blocks all others.
    `--entryPoints.web.address=0.0.0.0:${ingress.web}`,
    `--entryPoints.websecure.address=0.0.0.0:${ingress.websecure}`,
    '--entryPoints.websecure.http.tls=true',
    `--entryPoints.traefik.address=127.0.0.1:${ingress.admin}`,
    // At the node's address, for the metrics store, which is a pod.
    `--entryPoints.metrics.address=${node.address}:${ports.ingressMetrics}`,
    '--metrics.prometheus=true',
    '--metrics.prometheus.entryPoint=metrics',
    // Traefik's lowest default is 0.1, so that every fast app would seem to take 50 ms.
    `--metrics.prometheus.buckets=${durationBuckets.join(',')}`,
    '--providers.kubernetescrd=true',
    // The default of 30 s is how long a request would wait for a deleted pod's address before it goes to the next pod.
    '--serversTransport.forwardingTimeouts.dialTimeout=3s',
    // The default of 2 s delays the first requests of new pods and keeps requests going to old ones.
    '--providers.providersThrottleDuration=50ms',
    // Without it, every event of a Service or Secret reads all routes again.
    '--providers.kubernetescrd.throttleDuration=100ms',
    '--ping=true',
    '--accesslog=true',
    // Paths of webhooks may be secret (docs/how-to/deploy-from-ci.md).
    '--accesslog.format=json',
    '--accesslog.fields.names.RequestPath=drop',
    '--accesslog.fields.names.RequestLine=drop',
    '--log.level=INFO',
    // Both would contact a public server.
    '--global.checkNewVersion=false',
    '--global.sendAnonymousUsage=false',
  ];
}

/** Traefik, serving on 127.0.0.1 of the machine, and for pods behind a Service. Its custom resources must exist. Pure. */
export function ingressObjects(image: string, ingress: IngressPorts): KubernetesObject[] {
  return [
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } },
    ...serviceAccountWithRole('traefik', namespace, rules),
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'traefik', namespace, labels },
      spec: {
        selector: labels,
        // The ports have the names of the entry points, as in Traefik's chart and k3s.
        ports: [
          { name: 'web', port: 80, targetPort: ingress.web, protocol: 'TCP' },
          { name: 'websecure', port: 443, targetPort: ingress.websecure, protocol: 'TCP' },
        ],
      },
    },
    {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: 'traefik', namespace, labels },
      spec: {
        replicas: 1,
        // Two pods cannot listen on the same port of the machine.
        strategy: { type: 'Recreate' },
        selector: { matchLabels: labels },
        template: { metadata: { labels }, spec: podSpec(image, ingress) },
      },
    },
  ];
}

function podSpec(image: string, ingress: IngressPorts): object {
  return {
    serviceAccountName: 'traefik',
    // Its ports are those of this node.
    nodeSelector: { 'kubernetes.io/hostname': node.name },
    hostNetwork: true,
    dnsPolicy: 'ClusterFirstWithHostNet',
    containers: [
      {
        name: 'traefik',
        image,
        imagePullPolicy: 'Never',
        args: traefikParameters(ingress),
        env: Object.entries(goEnvironment).map(([name, value]) => ({ name, value })),
        readinessProbe: { httpGet: { host: '127.0.0.1', path: '/ping', port: ingress.admin }, periodSeconds: 1 },
        // Every request waits for it; it reads all routes again whenever pods of an app change.
        resources: { requests: { cpu: '200m', memory: '64Mi' } },
        securityContext: {
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          runAsNonRoot: true,
          runAsUser: 65532,
          capabilities: { drop: ['ALL'] },
        },
        volumeMounts: [{ name: 'temporary', mountPath: '/tmp' }],
      },
    ],
    volumes: [{ name: 'temporary', emptyDir: {} }],
  };
}
