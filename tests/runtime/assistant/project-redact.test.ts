import t from 'tap';
import { createProjectRedact } from '../../../runtime/assistant/project-redact.ts';
import type { Stored } from '../../../runtime/contracts/kubernetes.ts';
import { kinds } from '../../../runtime/contracts/resources/kinds.ts';
import { newId } from '../../../runtime/domain/ids.ts';
import { workloadLabels } from '../../../runtime/domain/labels.ts';
import type { WorkloadObject } from '../../../runtime/workloads/objects.ts';
import { ownedSecret } from '../../../runtime/workloads/owned-secret.ts';
import { fakeKube, type FakeKube } from '../../support/fake-kube.ts';
import { readyProject } from '../../support/objects.ts';

const encode = (values: Record<string, string>) =>
  Object.fromEntries(Object.entries(values).map(([name, value]) => [name, Buffer.from(value).toString('base64')]));

const [dana, vera] = [newId(), newId()];

/** Stores a workload with Secrets of its own. */
function addWorkload(
  kube: FakeKube,
  kind: 'App' | 'Function' | 'Service',
  namespace: string,
  spec: object,
  secrets: Record<string, Record<string, string>>,
  name = 'api',
): void {
  const resource = kind === 'Service' ? kinds.ServiceResource : kinds[kind];
  const labels = workloadLabels({ kind, name, id: newId() });
  kube.seed({ apiVersion: resource.apiVersion, kind, metadata: { name, namespace, labels }, spec });
  const owner = kube
    .all<WorkloadObject>(resource)
    .find(({ metadata }) => metadata.labels?.['platform.svc/id'] === labels['platform.svc/id']);
  for (const [secret, values] of Object.entries(secrets)) {
    kube.seed(ownedSecret(owner as Stored<WorkloadObject>, secret, encode(values)));
  }
}

function world() {
  const kube = fakeKube();
  kube.seed(...readyProject('shop', ['prod', 'dev']));
  let now = 0;
  const redactOf = createProjectRedact({ kube, clock: { monotonic: () => now } });
  const reads = () => kube.calls.filter(({ kind }) => kind === 'Secret').length;
  return { kube, redactOf, reads, pass: (ms: number) => (now += ms) };
}

t.test('it masks secrets with their previous values, and credentials of bindings, services and git', async (t) => {
  const { kube, redactOf } = world();
  addWorkload(
    kube,
    'App',
    'shop-prod',
    { bindings: [{ service: 'db', version: 1 }] },
    {
      'app-api-secrets': { TOKEN: 'current-value', 'TOKEN.previous': 'previous-value' },
      'app-api-binding-db': {
        type: 'postgres',
        host: 'db.internal',
        port: '5432',
        username: 'appuser',
        password: 'binding-password',
      },
      'app-api-git': { token: 'git-token-value', server: 'git.test' },
    },
  );
  addWorkload(kube, 'Function', 'shop-dev', {}, { 'function-api-secrets': { KEY: 'function-value' } });
  addWorkload(
    kube,
    'Service',
    'shop-prod',
    { type: 'postgres' },
    { 'service-db-credentials': { password: 'service-password' } },
    'db',
  );
  const text =
    'current-value previous-value binding-password git-token-value service-password function-value db.internal appuser';
  const production = await redactOf('shop', dana, 'prod');
  t.equal(
    production(text),
    '[redacted] [redacted] [redacted] [redacted] [redacted] function-value db.internal appuser',
  );
  const all = await redactOf('shop', dana);
  t.equal(all(text), '[redacted] [redacted] [redacted] [redacted] [redacted] [redacted] db.internal appuser');
  const other = await redactOf('blog', dana);
  t.equal(other('current-value'), 'current-value');
});

t.test(
  'it reads the Secrets of a namespace once for calls at once, and a secret that was set since is masked soon',
  async (t) => {
    const { kube, redactOf, reads, pass } = world();
    addWorkload(kube, 'Function', 'shop-prod', {}, { 'function-api-secrets': { KEY: 'function-value' } });
    await Promise.all([redactOf('shop', dana, 'prod'), redactOf('shop', dana, 'prod')]);
    await redactOf('shop', dana, 'prod');
    t.equal(reads(), 1);
    addWorkload(kube, 'App', 'shop-prod', {}, { 'app-web-secrets': { KEY: 'newer-value' } }, 'web');
    // A pod takes longer than this to start with the new secret and print it.
    pass(1_000);
    const redact = await redactOf('shop', dana, 'prod');
    t.equal(redact('function-value newer-value'), '[redacted] [redacted]');
    t.equal(reads(), 4, 'one of the function again, and two of the app');
  },
);

t.test('it rejects when a Secret cannot be read, and reads again with the next call', async (t) => {
  const { kube, redactOf } = world();
  addWorkload(kube, 'Function', 'shop-prod', {}, { 'function-api-secrets': { KEY: 'function-value' } });
  kube.intercept = ({ kind }) => {
    if (kind === 'Secret') throw new Error('away');
  };
  await t.rejects(redactOf('shop', dana, 'prod'), { message: 'away' });
  kube.intercept = undefined;
  t.equal((await redactOf('shop', dana, 'prod'))('function-value'), '[redacted]');
});

t.test(
  'an environment with more secrets than fit into memory has no results, and stops others from none',
  async (t) => {
    const { kube, redactOf, reads } = world();
    for (let index = 0; index < 20; index++) {
      addWorkload(
        kube,
        'Function',
        'shop-prod',
        {},
        { [`function-f${index}-secrets`]: { KEY: `${index} ${'x'.repeat(100_000)}` } },
        `f${index}`,
      );
    }
    addWorkload(kube, 'Function', 'shop-dev', {}, { 'function-api-secrets': { KEY: 'function-value' } });
    await t.rejects(redactOf('shop', dana, 'prod'), { code: 'conflict', message: /more secrets than can be masked/ });
    t.ok(reads() <= 8, 'it stops reading');
    t.equal((await redactOf('shop', dana, 'dev'))('function-value'), '[redacted]');
  },
);

t.test('too many calls that wait are refused', async (t) => {
  const { kube, redactOf } = world();
  kube.seed(
    ...readyProject(
      'big',
      Array.from({ length: 40 }, (_, index) => `e${index}`),
    ),
  );
  const { promise, resolve } = Promise.withResolvers<void>();
  kube.intercept = ({ verb }) => (verb === 'list' ? promise : undefined);
  const calls = Promise.allSettled(Array.from({ length: 40 }, (_, index) => redactOf('big', dana, `e${index}`)));
  const own = redactOf('shop', dana, 'prod');
  resolve();
  const refused = (await calls).filter(({ status }) => status === 'rejected');
  t.equal(refused.length, 19, 'one reads, 20 wait');
  t.match(refused[0], { reason: { code: 'too_many_requests' } });
  t.equal((await own)('x'), 'x', 'another project waits only for its turn');
});

t.test('the Secrets are read only so often for one user', async (t) => {
  const { redactOf, reads, pass, kube } = world();
  addWorkload(kube, 'Function', 'shop-prod', {}, { 'function-api-secrets': { KEY: 'function-value' } });
  const readAgain = async (user: string) => {
    pass(10_000);
    await redactOf('shop', user, 'prod');
  };
  // The environments of `big` take the place of those that are kept, so that each call reads.
  const environments = Array.from({ length: 5 }, (_, index) => `e${index}`);
  kube.seed(...readyProject('big', environments));
  for (let call = 0; call < 480; call++) await redactOf('big', dana, environments[call % 5]);
  const refused = redactOf('big', dana, environments[0]);
  await t.rejects(refused, { code: 'too_many_requests', details: { retryAfterSeconds: 1 } });
  const before = reads();
  await redactOf('big', vera, environments[4]);
  t.equal((await redactOf('shop', vera, 'prod'))('function-value'), '[redacted]', 'another user is not limited');
  t.equal(reads(), before + 1);
  t.equal((await redactOf('shop', dana, 'prod'))('function-value'), '[redacted]', 'what is kept costs nothing');
  await readAgain(dana);
  t.equal(reads(), before + 2, 'after a while, it is read again');
});
