import t from 'tap';
import { serviceAddress, serviceStatefulSet } from '../../../infra/manifests/service.ts';

const id = '0190a0a0-0000-7000-8000-000000000001';
const orders = { id, name: 'orders', namespace: 'shop-prod', storage: undefined, readySeconds: 5 };
const selector = { app: 'orders', 'platform.svc/kind': 'Service', 'platform.svc/role': 'serve' };

t.test('each server has its password in a file and its data on a claim', (t) => {
  for (const [type, port, variable, key, ready, variables = []] of [
    ['postgres', 5432, 'POSTGRES_PASSWORD_FILE', 'password', { exec: {} }],
    ['mysql', 3306, 'MARIADB_PASSWORD_FILE', 'password', { exec: {} }],
    ['redis', 6379, 'REDIS_PASSWORD_FILE', 'password', { exec: {} }, [{ name: 'REDIS_MAXMEMORY', value: '402653184' }]],
    [
      'minio',
      9000,
      'MINIO_ROOT_PASSWORD_FILE',
      'secretKey',
      { httpGet: { path: '/minio/health/cluster', port: 'store' } },
      [
        { name: 'MINIO_EVENTS_URL', value: 'http://svc-events.svc-system.svc:8082/stores/shop-prod/orders' },
        { name: 'MINIO_EVENTS_TOKEN_FILE', value: '/etc/svc/events/token' },
      ],
    ],
    [
      'mongodb',
      27_017,
      'MONGO_INITDB_ROOT_PASSWORD_FILE',
      'password',
      { tcpSocket: { port: 'store' } },
      // Without both of them MongoDB's own image requires no password.
      [
        { name: 'MONGO_INITDB_ROOT_USERNAME', value: 'svc' },
        { name: 'HOME', value: '/tmp' },
      ],
    ],
  ] as const) {
    const set = serviceStatefulSet({ ...orders, type, image: 'registry.test/server:1' });
    t.match(set, {
      metadata: { name: 'orders', namespace: 'shop-prod' },
      spec: {
        replicas: 1,
        selector: { matchLabels: selector },
        template: {
          spec: {
            automountServiceAccountToken: false,
            enableServiceLinks: false,
            securityContext: { runAsNonRoot: true, runAsUser: 10_001, fsGroup: 10_001 },
            containers: [
              {
                image: 'registry.test/server:1',
                env: [...variables, { name: variable, value: `/etc/svc/credentials/${key}` }],
                ports: [{ containerPort: port }],
                readinessProbe: { periodSeconds: 5, ...ready },
                securityContext: {
                  readOnlyRootFilesystem: true,
                  allowPrivilegeEscalation: false,
                  capabilities: { drop: ['ALL'] },
                },
                resources: { limits: { memory: String } },
              },
            ],
          },
        },
        volumeClaimTemplates: [{ metadata: { name: 'data' }, spec: { resources: { requests: { storage: '1Gi' } } } }],
      },
    });
    const volumes = set.spec.template.spec?.volumes;
    const secret = (of: string) => ({ secret: { secretName: `service-orders-${of}`, defaultMode: 0o440 } });
    const secrets = type === 'minio' ? [secret('credentials'), secret('events')] : [secret('credentials')];
    t.match(volumes?.slice(-secrets.length), secrets);
    t.match(serviceAddress({ ...orders, type }), {
      metadata: { name: 'orders' },
      spec: { selector, ports: [{ port }] },
    });
  }
  t.end();
});
