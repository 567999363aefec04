import t from 'tap';
import { alertmanager } from '../../../../infra/manifests/monitoring/alertmanager.ts';

t.test(
  'Alertmanager sends nothing anywhere, keeps silences on a volume, and is closed to pods of environments',
  (t) => {
    const objects = alertmanager.objects({ image: 'r/am@sha256:1', memory: '64Mi' });
    t.same(
      objects.map(({ kind, metadata }) => `${kind} ${metadata.namespace}/${metadata.name}`),
      ['NetworkPolicy', 'ConfigMap', 'Service', 'StatefulSet'].map((kind) => `${kind} monitoring/alertmanager`),
    );
    const [policy, configuration, , server] = objects as unknown as [
      { spec: { ingress: { from: object[] }[] } },
      { data: Record<string, string> },
      object,
      { spec: { template: { spec: { containers: object[]; automountServiceAccountToken: boolean } } } },
    ];
    t.same(JSON.parse(configuration.data['alertmanager.yml'] ?? ''), {
      route: { receiver: 'none', group_by: ['alertname'] },
      receivers: [{ name: 'none' }],
    });
    t.match(policy.spec.ingress, {
      length: 1,
      0: {
        from: ['metrics-store', 'console-api', 'svc-workers'].map((app) => ({ podSelector: { matchLabels: { app } } })),
      },
    });
    t.match(server.spec, {
      template: {
        spec: {
          automountServiceAccountToken: false,
          securityContext: { runAsNonRoot: true },
          containers: [
            {
              image: 'r/am@sha256:1',
              resources: { requests: { memory: '32Mi' }, limits: { memory: '64Mi' } },
              securityContext: { readOnlyRootFilesystem: true },
            },
          ],
        },
      },
      volumeClaimTemplates: [{ metadata: { name: 'data' } }],
    });
    t.end();
  },
);
