import { network, node } from '../settings.ts';
import type { KubernetesObject } from './object.ts';
import { serviceAccountWithRole } from './object.ts';

const namespace = 'kube-system';
const labels = { 'k8s-app': 'kube-dns' };

// Cluster names are not cached, so that a new Service is visible to tests immediately.
const corefile = `.:53 {
    errors
    health
    ready
    kubernetes ${network.domain} in-addr.arpa ip6.arpa {
        pods insecure
        fallthrough in-addr.arpa ip6.arpa
        ttl 5
    }
    prometheus :9153
    forward . /etc/resolv.conf
    cache 30 {
        disable success ${network.domain}
        disable denial ${network.domain}
    }
    loadbalance
}
`;

/** CoreDNS behind the cluster's DNS address; it forwards other names to the machine's resolver. Pure. */
export function dnsObjects(image: string): KubernetesObject[] {
  const role = serviceAccountWithRole('coredns', namespace, [
    { apiGroups: [''], resources: ['endpoints', 'services', 'pods', 'namespaces'], verbs: ['list', 'watch'] },
    { apiGroups: ['discovery.k8s.io'], resources: ['endpointslices'], verbs: ['list', 'watch'] },
  ]);
  return [
    ...role,
    { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'coredns', namespace }, data: { Corefile: corefile } },
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'kube-dns', namespace, labels },
      spec: {
        clusterIP: network.dnsService,
        selector: labels,
        ports: [
          { name: 'dns', port: 53, protocol: 'UDP' },
          { name: 'dns-tcp', port: 53, protocol: 'TCP' },
          { name: 'metrics', port: 9153, protocol: 'TCP' },
        ],
      },
    },
    {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: 'coredns', namespace, labels },
      spec: {
        replicas: 1,
        selector: { matchLabels: labels },
        template: { metadata: { labels }, spec: podSpec(image) },
      },
    },
  ];
}

function podSpec(image: string): object {
  return {
    serviceAccountName: 'coredns',
    // Only this node has the image, and the other may be lost on purpose.
    nodeSelector: { 'kubernetes.io/hostname': node.name },
    priorityClassName: 'system-cluster-critical',
    // CoreDNS uses the machine's resolver. Using itself would be a loop.
    dnsPolicy: 'Default',
    containers: [
      {
        name: 'coredns',
        image,
        imagePullPolicy: 'Never',
        args: ['-conf', '/etc/coredns/Corefile'],
        readinessProbe: { httpGet: { path: '/ready', port: 8181 }, periodSeconds: 1 },
        livenessProbe: { httpGet: { path: '/health', port: 8080 }, initialDelaySeconds: 30, failureThreshold: 5 },
        resources: { requests: { cpu: '20m', memory: '32Mi' } },
        securityContext: {
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          capabilities: { add: ['NET_BIND_SERVICE'], drop: ['ALL'] },
        },
        volumeMounts: [{ name: 'configuration', mountPath: '/etc/coredns', readOnly: true }],
      },
    ],
    volumes: [{ name: 'configuration', configMap: { name: 'coredns' } }],
  };
}
