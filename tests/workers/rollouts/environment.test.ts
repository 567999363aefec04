import t, { type Test } from 'tap';
import type { Stored } from '../../../runtime/contracts/kubernetes.ts';
import type { App } from '../../../runtime/contracts/resources/app.ts';
import type { BindingStatus } from '../../../runtime/contracts/resources/binding.ts';
import { kinds } from '../../../runtime/contracts/resources/kinds.ts';
import { transaction } from '../../../runtime/db/pool.ts';
import { systemClock } from '../../../runtime/domain/clock.ts';
import { newId, type Id } from '../../../runtime/domain/ids.ts';
import { secretsExpectedAnnotation } from '../../../runtime/domain/labels.ts';
import { acceptDeployment } from '../../../runtime/records/acceptance.ts';
import { bindingData, bindingSecretName } from '../../../runtime/workloads/bindings.ts';
import { ownedSecret, type Secret } from '../../../runtime/workloads/owned-secret.ts';
import { environmentSecrets, wantedByRelease } from '../../../runtime/workloads/environment.ts';
import { createSecretStore } from '../../../runtime/workloads/secrets.ts';
import { isReleaseCompletion } from '../../../workers/rollouts/completion.ts';
import { createRolloutProcessor } from '../../../workers/rollouts/process.ts';
import { fakeKube } from '../../support/fake-kube.ts';
import { silentLog } from '../../support/log.ts';
import { testDatabase } from '../../support/postgres.ts';
import { appObject, namespace, testApp } from './rollout-world.ts';

async function world(t: Test) {
  const { pool } = await testDatabase(t);
  const kube = fakeKube();
  const app = await testApp(pool, kube, 'api');
  const crash = { at: '' };
  const process = createRolloutProcessor({
    pool,
    kube,
    failpoint(name) {
      if (name === crash.at) throw new Error(`killed at ${name}`);
    },
  });
  const step = (recordId: Id) =>
    process({ recordId, attempt: 1, last: false, signal: new AbortController().signal, log: silentLog });
  const secrets = createSecretStore({ kube, clock: systemClock });
  const setEnv = (env: Record<string, string>) =>
    kube.mergePatch<App>(
      { ...kinds.App, namespace, name: 'api' },
      { spec: { env: Object.entries(env).map(([name, value]) => ({ name, value })) } },
    );
  const setSecret = async (name: string, value: string) =>
    secrets.set(
      await kube.get<App>(kinds.App, 'api', namespace).then((readEnvironment) => readEnvironment ?? fail()),
      name,
      value,
    );
  const environments = () =>
    kube.all<Secret>(kinds.Secret).filter(({ metadata }) => metadata.name.startsWith('app-api-env-'));
  const release = async () => (await app.object()).spec.release;
  /** The variables of the containers. */
  const readEnvironment = async () => {
    const name = (await release())?.envSecret;
    const secret = environments().find(({ metadata }) => metadata.name === name);
    const entries = Object.entries(secret?.data ?? {});
    return Object.fromEntries(entries.map(([key, value]) => [key, Buffer.from(value, 'base64').toString()]));
  };
  return { kube, pool, app, step, crash, setEnv, setSecret, environments, release, readEnvironment };
}

function fail(): never {
  throw new Error('no app');
}

t.test('a release gets the environment of its time, once, and immutable', async (t) => {
  const { kube, app, step, setEnv, setSecret, environments, release, readEnvironment } = await world(t);
  await setEnv({ URL: 'db://u:${PASSWORD}@${HOST}', HOST: 'h' });
  await setSecret('PASSWORD', 'p$${x');
  const id = await app.accept('r/api:1');
  await step(id);
  t.same(await readEnvironment(), { HOST: 'h', PASSWORD: 'p$${x', URL: 'db://u:p$${x@h' });
  const [secret, ...others] = environments();
  t.equal(others.length, 0);
  t.match(secret, {
    immutable: true,
    type: 'Opaque',
    metadata: {
      name: /^app-api-env-[0-9a-f]{16}$/,
      labels: { 'app.kubernetes.io/managed-by': 'kipper', app: 'api', 'platform.svc/kind': 'App' },
      ownerReferences: [{ kind: 'App', name: 'api' }],
      annotations: { 'platform.svc/release': '1' },
    },
  });
  t.same(environmentSecrets(await app.object()), [(await release())?.envSecret]);
  await step(id);
  t.equal(environments().length, 1, 'the step again');

  await setSecret('PASSWORD', 'new');
  t.equal((await readEnvironment())['PASSWORD'], 'p$${x', 'a change waits for the next deployment');
  await app.report({ phase: 'available' });
  await step(id);
  await step(await app.accept('r/api:2'));
  t.equal((await readEnvironment())['URL'], 'db://u:new@h');
  t.equal(environments().length, 2);
  t.equal(environmentSecrets(await app.object()).length, 2, 'both can be found by name');
  t.notMatch(JSON.stringify([kube.all(kinds.App), await app.history()]), /new@h|p\$\$/);
});

t.test(
  'the same settings make the same Secret, for a rollback too; a rollback keeps the current environment',
  async (t) => {
    const { app, step, setEnv, environments, release, readEnvironment } = await world(t);
    await setEnv({ A: '1', B: '2' });
    const finish = async (image: string, trigger: 'webhook' | 'rollback' = 'webhook') => {
      const id = await app.accept(image, trigger);
      await step(id);
      await app.report({ phase: 'available' });
      await step(id);
      return (await release())?.envSecret;
    };
    const first = await finish('r/api:1');
    await setEnv({ B: '2', A: '1' });
    t.equal(await finish('r/api:2'), first, 'in another order');
    t.match(environments().map(wantedByRelease), [2], 'the collector of old Secrets sees that it is in use again');
    await setEnv({ A: '3' });
    t.not(await finish('r/api:3'), first);
    await finish('r/api:1', 'rollback');
    t.same(await readEnvironment(), { A: '3' });
    await setEnv({});
    t.equal(await finish('r/api:1'), undefined, 'without variables there is none');
  },
);

t.test('killed at any step, the step is repeated, and a change between the attempts counts', async (t) => {
  const { app, step, crash, setEnv, environments, readEnvironment } = await world(t);
  await setEnv({ A: '1' });
  const id = await app.accept('r/api:1');
  for (const at of ['rollout.before-apply', 'rollout.applied', 'rollout.recorded']) {
    crash.at = at;
    await t.rejects(step(id), new RegExp(at));
  }
  crash.at = '';
  await step(id);
  t.same(await readEnvironment(), { A: '1' });
  t.equal(environments().length, 1);

  await setEnv({ A: '2' });
  const next = await app.accept('r/api:2');
  crash.at = 'rollout.before-apply';
  await t.rejects(step(next), /killed/);
  crash.at = '';
  await setEnv({ A: '3' });
  await step(next);
  t.same(await readEnvironment(), { A: '3' });
});

t.test('variables that change while the release is written are included', async (t) => {
  const { kube, app, step, setEnv, readEnvironment } = await world(t);
  await setEnv({ A: '1' });
  const id = await app.accept('r/api:1');
  kube.intercept = async ({ verb, kind }) => {
    if (verb !== 'replace' || kind !== 'App') return;
    kube.intercept = undefined;
    await setEnv({ A: '2' });
  };
  await step(id);
  t.same(await readEnvironment(), { A: '2' });
});

t.test('a variable that does not resolve, or a conflicting Secret, fails the deployment with the reason', async (t) => {
  const { kube, app, step, setEnv, release } = await world(t);
  await setEnv({ URL: '${PASSWORD}' });
  t.equal(await step(await app.accept('r/api:1')), 'done');
  t.match((await app.history())[0], {
    state: 'failed',
    reason: '"URL" refers to "PASSWORD", which is not set (URL → PASSWORD).',
  });
  t.equal(await release(), undefined);

  await setEnv({ URL: 'x' });
  kube.intercept = ({ verb, kind, name }) => {
    if (verb !== 'create' || kind !== 'Secret' || name === undefined) return;
    kube.intercept = undefined;
    kube.seed({ apiVersion: 'v1', kind: 'Secret', metadata: { name, namespace }, data: {} } as Secret);
  };
  t.equal(await step(await app.accept('r/api:2')), 'done');
  t.match((await app.history())[0], { state: 'failed', reason: /was not created by the platform/ });
});

t.test('a Secret that is still being deleted is waited for, and a Kubernetes error is thrown', async (t) => {
  const { kube, app, step, setEnv, environments, release } = await world(t);
  await setEnv({ A: '1' });
  const id = await app.accept('r/api:1');
  kube.intercept = ({ verb, kind }) => {
    if (verb === 'create' && kind === 'Secret') throw new Error('connection refused');
  };
  await t.rejects(step(id), /connection refused/);
  kube.intercept = undefined;
  await step(id);
  const name = (await release())?.envSecret ?? '';
  await kube.mergePatch({ ...kinds.Secret, namespace, name }, { metadata: { finalizers: ['test/hold'] } });
  await kube.delete({ ...kinds.Secret, namespace, name });
  await t.rejects(step(await app.accept('r/api:2')), /still being deleted/);
  await kube.mergePatch({ ...kinds.Secret, namespace, name }, { metadata: { finalizers: null } });
  const [newest] = await app.history();
  await step(newest?.id ?? '');
  t.match(environments(), [{ metadata: { name, annotations: { 'platform.svc/release': '2' } } }]);
});

/** Binds the app to a PostgreSQL service, and reports what the queue `bindings` would. */
async function bindings({ kube, app }: Pick<Awaited<ReturnType<typeof world>>, 'kube' | 'app'>) {
  const service = 'orders';
  const ref = { ...kinds.App, namespace, name: 'api' };
  return {
    bind: async (version: number) => kube.mergePatch<App>(ref, { spec: { bindings: [{ service, version }] } }),
    report: async (status: Omit<BindingStatus, 'service'>, password = '') => {
      const live = (await kube.get<App>(kinds.App, 'api', namespace)) ?? fail();
      if (status.phase === 'ready') {
        const login = { host: 'db', port: 5432, tls: false, username: 'u', database: 'd', password };
        const data = bindingData({ type: 'postgres', ...login }, status.version);
        const name = bindingSecretName(live, service);
        const secret = await kube.get<Secret>(kinds.Secret, name, namespace);
        await (secret ? kube.replace({ ...secret, data }) : kube.create(ownedSecret(live, name, data)));
      }
      await kube.replaceStatus<App>({ ...live, status: { ...live.status, bindings: [{ service, ...status }] } });
    },
    finish: async (step: (id: Id) => Promise<unknown>, id: Id) => {
      await step(id);
      const live = (await app.object()) as Stored<App>;
      const { generation, deploymentId } = live.spec.release ?? fail();
      const release = { generation, deploymentId, phase: 'available' as const };
      await kube.replaceStatus<App>({ ...live, status: { ...live.status, release } });
      await step(id);
    },
  };
}

t.test('a release waits for a binding, and gets its variables; the app’s own override them', async (t) => {
  const all = await world(t);
  const { app, step, setEnv, release, readEnvironment } = all;
  const { bind, report } = await bindings(all);
  await bind(1);
  await setEnv({ DB_PORT: '1', HOST: '${DB_HOST}' });
  const id = await app.accept('r/api:1');
  t.match(await step(id), { again: Date }, 'until the deadline or a change of the App');
  await report({ version: 1, phase: 'pending', message: 'The service is starting.' });
  t.match(await step(id), { again: Date });
  t.equal(await release(), undefined);
  await report({ version: 1, phase: 'ready' }, 'p:w');
  await step(id);
  t.same(await readEnvironment(), {
    DB_HOST: 'db',
    DB_PORT: '1',
    DB_USERNAME: 'u',
    DB_PASSWORD: 'p:w',
    DB_NAME: 'd',
    DATABASE_URL: 'postgresql://u:p%3Aw@db:5432/d',
    HOST: 'db',
  });
});

t.test('a binding that fails, or is not ready in time, fails the deployment with its reason', async (t) => {
  const all = await world(t);
  const { pool, app, step, release } = all;
  const { bind, report } = await bindings(all);
  await bind(1);
  await report({ version: 1, phase: 'failed', message: 'The server refuses.' });
  t.equal(await step(await app.accept('r/api:1')), 'done');
  t.match((await app.history())[0], {
    state: 'failed',
    reason: 'The binding to "orders" failed: The server refuses. When it is ready, deploy again.',
  });
  await report({ version: 1, phase: 'pending', message: 'The service is starting.' });
  const late = await app.accept('r/api:2');
  await pool.query(`UPDATE deployments SET accepted_at = now() - interval '1 hour' WHERE id = $1`, [late]);
  t.equal(await step(late), 'done');
  t.match(
    (await app.history()).find((deployment) => deployment.id === late),
    {
      state: 'failed',
      reason:
        'The binding to "orders" was not ready within 10 minutes. The service is starting. When it is ready, deploy again.',
    },
  );
  t.equal(await release(), undefined);
});

t.test('a rollback that restores variables gets the current password of a binding', async (t) => {
  const all = await world(t);
  const { pool, app, step, setEnv, readEnvironment } = all;
  const { bind, report, finish } = await bindings(all);
  await bind(1);
  await report({ version: 1, phase: 'ready' }, 'old');
  await setEnv({ A: '1', URL: 'see ${DATABASE_URL} $$' });
  await finish(step, await app.accept('r/api:1'));
  await bind(2);
  await report({ version: 2, phase: 'ready' }, 'new');
  await setEnv({ A: '2' });
  await finish(step, await app.accept('r/api:2'));
  t.match(await readEnvironment(), { A: '2', DB_PASSWORD: 'new' });
  const rollback = { workloadId: app.id, trigger: 'rollback', image: 'r/api:1', rollbackOf: 1 } as const;
  const { id } = await transaction(pool, (client) => acceptDeployment(client, { ...rollback, restores: 'config' }));
  await finish(step, id);
  const url = 'postgresql://u:new@db:5432/d';
  t.match(await readEnvironment(), { A: '1', DB_PASSWORD: 'new', DATABASE_URL: url, URL: `see ${url} $` });
});

t.test('the first release waits for the secrets that the app was created with', async (t) => {
  const { kube, pool, app, step, setSecret, release, readEnvironment } = await world(t);
  const annotate = (value: string | null) =>
    kube.mergePatch(
      { ...kinds.App, namespace, name: 'api' },
      { metadata: { annotations: { [secretsExpectedAnnotation]: value } } },
    );
  await annotate('true');
  const id = await app.accept('r/api:1');
  t.match(await step(id), { again: Date });
  t.equal(await release(), undefined);
  await pool.query(`UPDATE deployments SET accepted_at = now() - interval '1 hour' WHERE id = $1`, [id]);
  t.equal(await step(id), 'done');
  t.match((await app.history())[0]?.reason, /^The secrets of the app were not stored/);
  await setSecret('TOKEN', 'x');
  await step(await app.accept('r/api:2'));
  t.same(await readEnvironment(), { TOKEN: 'x' }, 'they count as soon as they are stored');
});

t.test('a rollout continues once a binding is ready or failed, or the secrets are stored', (t) => {
  const app = appObject('api', newId());
  const change = (object: App, previous: App) => isReleaseCompletion({ type: 'updated', object, previous } as never);
  const reported = (phase: 'pending' | 'ready' | 'failed', version = 1): App => ({
    ...app,
    status: { bindings: [{ service: 'orders', version, phase }] },
  });
  t.equal(change(reported('pending'), app), false);
  t.equal(change(reported('ready'), reported('pending')), true);
  t.equal(change(reported('failed'), reported('pending')), true);
  t.equal(change(reported('ready', 2), reported('ready')), true);
  t.equal(change(reported('ready'), reported('ready')), false);
  const expecting = { ...app, metadata: { ...app.metadata, annotations: { [secretsExpectedAnnotation]: 'true' } } };
  t.equal(change(app, expecting), true);
  t.end();
});
