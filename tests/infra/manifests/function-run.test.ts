import t from 'tap';
import { functionPod } from '../../../infra/manifests/function-pod.ts';
import { functionSchedule, testRun } from '../../../infra/manifests/function-run.ts';
import { servingSelector } from '../../../runtime/domain/labels.ts';

const id = '0190a0a0-0000-7000-8000-000000000001';
const nightly = { id, name: 'nightly', namespace: 'shop-prod' };
const image = 'registry.test/function-node:1';
const spec = { runtime: 'node' as const, code: 'export const handler = () => 1;', schedule: '*/5 * * * *' };
const labels = {
  'app.kubernetes.io/managed-by': 'kipper',
  app: 'nightly',
  'platform.svc/kind': 'Function',
  'platform.svc/id': id,
};
const run = (role: string) => ({
  backoffLimit: 0,
  template: {
    metadata: { labels: { ...labels, 'platform.svc/role': role } },
    spec: {
      restartPolicy: 'Never',
      ...functionPod(nightly, spec, {
        image,
        env: [
          { name: 'SVC_MODE', value: 'batch' },
          { name: 'SVC_TRIGGER', value: role },
          { name: 'SVC_SCHEDULE', value: '*/5 * * * *' },
          {
            name: 'SVC_RUN',
            valueFrom: { fieldRef: { fieldPath: "metadata.labels['batch.kubernetes.io/job-name']" } },
          },
        ],
      }),
    },
  },
});

t.test('a cron function is a CronJob, by default in UTC and without overlap', (t) => {
  const cronJob = functionSchedule(nightly, spec, { image });
  t.strictSame(cronJob, {
    apiVersion: 'batch/v1',
    kind: 'CronJob',
    metadata: { name: 'nightly', namespace: 'shop-prod', labels },
    spec: {
      schedule: '*/5 * * * *',
      timeZone: 'Etc/UTC',
      concurrencyPolicy: 'Forbid',
      suspend: false,
      startingDeadlineSeconds: 300,
      successfulJobsHistoryLimit: 5,
      failedJobsHistoryLimit: 5,
      jobTemplate: {
        metadata: { labels: { ...labels, 'platform.svc/role': 'cron' } },
        spec: { ...run('cron'), ttlSecondsAfterFinished: 604_800 },
      },
    },
  });
  const zoned = functionSchedule(nightly, { ...spec, timeZone: 'Europe/Berlin', overlap: 'Replace' }, { image });
  t.match(zoned.spec, { timeZone: 'Europe/Berlin', concurrencyPolicy: 'Replace' });
  t.end();
});

t.test('an image runs its own command', async (t) => {
  const { template } = testRun(
    nightly,
    { schedule: spec.schedule, image },
    { image },
    { id: '00c0ffee00', at: '' },
  ).spec;
  const container = template.spec?.containers[0];
  t.equal(container?.command, undefined);
  t.match(container, {
    image,
    env: [
      { name: 'SVC_MODE', value: 'batch' },
      { name: 'SVC_TRIGGER', value: 'test' },
    ],
  });
});

t.test('every pod has the environment, the volumes and the limits', (t) => {
  const mounted = { ...spec, volumes: [{ name: 'data', path: '/data' }], memory: '1024Mi', cpu: '0.5' };
  const run = testRun(nightly, mounted, { image, envSecret: 'function-nightly-env-1' }, { id: '00c0ffee00', at: '' });
  t.match(run.spec, {
    template: {
      spec: {
        securityContext: { fsGroup: 10_001, fsGroupChangePolicy: 'OnRootMismatch' },
        containers: [
          {
            envFrom: [{ secretRef: { name: 'function-nightly-env-1' } }],
            resources: { requests: { cpu: '250m', memory: '512Mi' }, limits: { cpu: '500m', memory: '1Gi' } },
            volumeMounts: [{ name: 'code' }, { name: 'tmp' }, { name: 'volume-data', mountPath: '/data' }],
          },
        ],
        volumes: [{ name: 'code' }, { name: 'tmp' }, { persistentVolumeClaim: { claimName: 'data' } }],
      },
    },
  });
  t.end();
});

t.test('a test run equals a scheduled run except for its trigger', (t) => {
  const job = testRun(nightly, spec, { image }, { id: '00c0ffee00', at: '2026-11-21T12:00:00Z', by: 'ada@svc.test' });
  t.strictSame(job, {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: {
      name: 'nightly-test-00c0ffee00',
      namespace: 'shop-prod',
      labels: { ...labels, 'platform.svc/role': 'test' },
      annotations: { 'platform.svc/requested-by': 'ada@svc.test' },
    },
    spec: run('test'),
  });
  const selector = servingSelector({ kind: 'Function', name: 'nightly' });
  const carried: Record<string, string> = job.metadata.labels ?? {};
  t.notOk(
    Object.entries(selector).every(([label, value]) => carried[label] === value),
    'no request reaches it',
  );
  const longest = testRun({ ...nightly, name: 'n'.repeat(40) }, spec, { image }, { id: '00c0ffee00', at: '' });
  // A pod's name is a DNS label: the Job controller appends six characters.
  t.ok(longest.metadata.name.length + 6 <= 63);
  t.end();
});
