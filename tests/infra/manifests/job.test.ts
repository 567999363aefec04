import t from 'tap';
import { jobSchedule, runJob, runName } from '../../../infra/manifests/job.ts';
import { mountedVolumes, volumeClaim } from '../../../infra/manifests/volume.ts';
import { jobSpec } from '../../../runtime/contracts/resources/job.ts';

const id = '0190a0a0-0000-7000-8000-000000000001';
const report = { id, name: 'report', namespace: 'shop-prod' };
const labels = {
  'app.kubernetes.io/managed-by': 'kipper',
  app: 'report',
  'platform.svc/kind': 'Job',
  'platform.svc/id': id,
};
const image = 'registry.test/report:7';

t.test('a run is a batch Job with a name from its request', (t) => {
  const spec = jobSpec.parse({
    image,
    command: ['npm', 'run', 'report'],
    env: [
      { name: 'MODE', value: 'full' },
      { name: 'EMPTY', value: '' },
    ],
    volumes: [
      { name: 'data', path: '/data' },
      { name: 'data', path: '/backup' },
    ],
    memory: '1024Mi',
    cpu: '0.5',
    retries: 2,
    timeoutSeconds: 600,
  });
  const request = { id: '00c0ffee00', at: '2026-11-21T12:00:00Z', by: 'ada@svc.test' };
  t.strictSame(runJob(report, spec, { env: spec.env }, request), {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: {
      name: 'report-00c0ffee00',
      namespace: 'shop-prod',
      labels: { ...labels, 'platform.svc/role': 'run' },
      annotations: { 'platform.svc/requested-by': 'ada@svc.test' },
    },
    spec: {
      backoffLimit: 2,
      activeDeadlineSeconds: 600,
      template: {
        metadata: { labels: { ...labels, 'platform.svc/role': 'run' } },
        spec: {
          restartPolicy: 'Never',
          automountServiceAccountToken: false,
          enableServiceLinks: false,
          terminationGracePeriodSeconds: 30,
          securityContext: { seccompProfile: { type: 'RuntimeDefault' } },
          containers: [
            {
              name: 'job',
              image,
              command: ['npm', 'run', 'report'],
              // As the API server stores them: an empty value is dropped, and quantities are canonical.
              env: [{ name: 'MODE', value: 'full' }, { name: 'EMPTY' }],
              resources: { requests: { cpu: '500m', memory: '1Gi' }, limits: { cpu: '500m', memory: '1Gi' } },
              terminationMessagePolicy: 'FallbackToLogsOnError',
              securityContext: { allowPrivilegeEscalation: false },
              volumeMounts: [
                { name: 'volume-data', mountPath: '/data' },
                { name: 'volume-data', mountPath: '/backup' },
              ],
            },
          ],
          volumes: [{ name: 'volume-data', persistentVolumeClaim: { claimName: 'data' } }],
        },
      },
    },
  });
  // A pod's name is a DNS label: the Job controller appends six characters.
  t.ok(runName('n'.repeat(40), request).length + 6 <= 63);
  t.end();
});

t.test('a schedule is a CronJob; its runs are labelled and have a time to live', (t) => {
  const spec = jobSpec.parse({ image });
  t.strictSame(jobSchedule(report, { ...spec, schedule: '0 2 * * *' }, {}), {
    apiVersion: 'batch/v1',
    kind: 'CronJob',
    metadata: { name: 'report', namespace: 'shop-prod', labels },
    spec: {
      schedule: '0 2 * * *',
      timeZone: 'Etc/UTC',
      concurrencyPolicy: 'Forbid',
      suspend: false,
      startingDeadlineSeconds: 300,
      successfulJobsHistoryLimit: 5,
      failedJobsHistoryLimit: 5,
      jobTemplate: {
        metadata: { labels: { ...labels, 'platform.svc/role': 'cron' } },
        spec: {
          backoffLimit: 0,
          ttlSecondsAfterFinished: 604_800,
          template: {
            metadata: { labels: { ...labels, 'platform.svc/role': 'cron' } },
            spec: {
              restartPolicy: 'Never',
              automountServiceAccountToken: false,
              enableServiceLinks: false,
              terminationGracePeriodSeconds: 30,
              securityContext: { seccompProfile: { type: 'RuntimeDefault' } },
              containers: [
                {
                  name: 'job',
                  image,
                  resources: {},
                  terminationMessagePolicy: 'FallbackToLogsOnError',
                  securityContext: { allowPrivilegeEscalation: false },
                },
              ],
            },
          },
        },
      },
    },
  });
  t.end();
});

t.test('a volume is a claim of the same name; the cluster chooses the default class', (t) => {
  const data = { id, name: 'data', namespace: 'shop-prod' };
  const claim = {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: {
      name: 'data',
      namespace: 'shop-prod',
      labels: { 'app.kubernetes.io/managed-by': 'kipper', 'platform.svc/kind': 'Volume', 'platform.svc/id': id },
    },
    spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1536Mi' } } },
  };
  t.strictSame(volumeClaim(data, { size: '1.5Gi', accessMode: 'ReadWriteOnce' }), claim);
  t.strictSame(volumeClaim(data, { size: '1.5Gi', accessMode: 'ReadWriteOnce', storageClass: 'fast' }).spec, {
    ...claim.spec,
    storageClassName: 'fast',
  });
  t.same(mountedVolumes(), { volumes: [], volumeMounts: [] });
  t.end();
});
