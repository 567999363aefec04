import t from 'tap';
import type { BatchJob } from '../../../infra/manifests/batch.ts';
import type { BindingStatus } from '../../../runtime/contracts/resources/binding.ts';
import { kinds } from '../../../runtime/contracts/resources/kinds.ts';
import { newId } from '../../../runtime/domain/ids.ts';
import { secretsExpectedAnnotation } from '../../../runtime/domain/labels.ts';
import { bindingData, bindingSecretName } from '../../../runtime/workloads/bindings.ts';
import { ownedSecret, type Secret } from '../../../runtime/workloads/owned-secret.ts';
import { createSecretStore } from '../../../runtime/workloads/secrets.ts';
import { id, jobWorld, namespace, ref } from './job-world.ts';

type World = ReturnType<typeof jobWorld>;
const first = 'report-0000000001';
const second = 'report-0000000002';

/** Does what the queue `bindings` does for a postgres service. */
async function provision({ kube, job }: World, service: string, version: number) {
  const endpoint = { type: 'postgres', host: 'orders.shop-prod.svc', port: 5432, tls: false } as const;
  const credentials = { username: 'u', password: `p${version}`, database: 'orders_report_prod', ...endpoint };
  const name = bindingSecretName(job(), service);
  const existing = await kube.get<Secret>(kinds.Secret, name, namespace);
  const data = bindingData(credentials, version);
  if (existing) await kube.replace<Secret>({ ...existing, data });
  else await kube.create<Secret>(ownedSecret(job(), name, data));
}

const report = ({ kube, job }: World, status: BindingStatus) =>
  kube.replaceStatus({ ...job(), status: { ...job().status, bindings: [status] } });

async function setSecret({ kube, clock, job }: World, name: string, value: string) {
  await createSecretStore({ kube, clock }).set(job(), name, value);
  await kube.mergePatch(ref, { spec: { secretsRevision: newId() } });
}

/** The variables that the pod of a run gets. */
async function variablesOf({ kube, runs }: World, name: string) {
  const run = runs().find(({ metadata }) => metadata.name === name);
  const template = run?.spec['template'] as { spec: { containers: Container[] } } | undefined;
  const [{ env = [], envFrom = [] } = {}] = template?.spec.containers ?? [];
  const secretName = envFrom[0]?.secretRef.name;
  const secret = secretName === undefined ? undefined : await kube.get<Secret>(kinds.Secret, secretName, namespace);
  return Object.fromEntries([
    ...env.map((variable) => [variable.name, variable.value ?? '']),
    ...Object.entries(secret?.data ?? {}).map(([key, data]) => [key, Buffer.from(data, 'base64').toString()]),
  ]) as Record<string, string>;
}

interface Container {
  env?: { name: string; value?: string }[];
  envFrom?: { secretRef: { name: string } }[];
}

const environments = ({ kube }: World) =>
  kube.all<Secret>(kinds.Secret).filter(({ metadata }) => metadata.name.startsWith('job-report-env-'));
const suspended = ({ kube }: World) => kube.all<BatchJob>(kinds.CronJob).map(({ spec }) => spec['suspend']);

t.test('variables refer to each other, and Kubernetes expands nothing in them', async (t) => {
  const env = [
    { name: 'PORT', value: '80' },
    { name: 'URL', value: 'http://h:${PORT}/$(PORT)/$${PORT}' },
  ];
  const world = jobWorld({ env });
  await world.ask(1);
  await world.reconcile();
  t.same(await variablesOf(world, first), { PORT: '80', URL: 'http://h:80/$$(PORT)/$${PORT}' }, '$$ is a dollar there');
  t.same(world.kube.all(kinds.Secret), [], 'nothing secret needs no Secret');
  await world.kube.mergePatch(ref, { spec: { env: [{ name: 'URL', value: '${NONE}' }] } });
  await world.ask(2);
  await t.rejects(world.reconcile(), { code: 'invalid_value' });
  t.match(world.job().status, { phase: 'failed', message: /"NONE", which is not set/ });
  t.equal(world.runs().length, 1);
});

t.test('runs wait for a binding, and start with its credentials', async (t) => {
  const bindings = [{ service: 'orders', version: 1 }];
  const env = [{ name: 'DSN', value: '${DATABASE_URL}?x' }];
  const world = jobWorld({ bindings, env, schedule: '0 2 * * *' });
  await world.ask(1);
  await world.reconcile();
  t.match(world.bound.at(-1), [id, [{ service: 'orders', version: 1 }]], 'the queue gets it');
  t.match(world.job().status, { phase: 'pending', message: 'Waiting for the binding to "orders".', runs: [] });
  t.match(world.job().spec.runRequests, [{ id: '0000000001' }], 'the request waits');
  t.same([world.runs(), suspended(world)], [[], [true]]);

  await report(world, { service: 'orders', version: 1, phase: 'failed', message: 'The server refuses.' });
  await world.reconcile();
  t.match(world.job().status, { phase: 'failed', message: 'The binding to "orders" failed: The server refuses.' });
  t.equal(world.runs().length, 0);

  await provision(world, 'orders', 1);
  await report(world, { service: 'orders', version: 1, phase: 'ready', database: 'orders_report_prod' });
  await world.reconcile();
  t.match(await variablesOf(world, first), {
    DATABASE_URL: 'postgresql://u:p1@orders.shop-prod.svc:5432/orders_report_prod',
    DSN: 'postgresql://u:p1@orders.shop-prod.svc:5432/orders_report_prod?x',
    DB_PASSWORD: 'p1',
  });
  t.same([world.job().spec.runRequests, suspended(world)], [undefined, [false]]);
  t.match(world.job().status, { phase: 'running', bindings: [{ service: 'orders', phase: 'ready' }] });
  t.notOk(world.job().status?.message);

  await t.test('a new password: a run in progress keeps its environment until it has ended', async (t) => {
    await world.kube.mergePatch(ref, { spec: { bindings: [{ service: 'orders', version: 2 }] } });
    await world.ask(2);
    await world.reconcile();
    t.same([world.runs().length, suspended(world)], [1, [true]], 'no run starts with an invalid password');
    await provision(world, 'orders', 2);
    await report(world, { service: 'orders', version: 2, phase: 'ready' });
    await world.reconcile();
    t.match(await variablesOf(world, second), { DB_PASSWORD: 'p2' });
    await world.reconcile();
    await world.clock.advance(61_000);
    await world.reconcile();
    t.equal(environments(world).length, 2);
    for (const run of [first, second]) await world.end(run, 'Complete', world.clock.now());
    await world.reconcile();
    t.equal(environments(world).length, 1, 'the older one is deleted');
    t.equal(suspended(world)[0], false);
  });

  await t.test('it is unbound; its users are removed with it', async (t) => {
    await world.kube.mergePatch(ref, { spec: { bindings: null, env: null } });
    await world.reconcile();
    t.same(world.bound.at(-1), [id, []]);
    t.notOk(world.job().status?.bindings);
    await world.clock.advance(61_000);
    await world.reconcile();
    t.same(world.kube.all(kinds.Secret), []);
    await world.kube.mergePatch(ref, { spec: { bindings: [{ service: 'stock', version: 3 }] } });
    await world.reconcile();
    t.match(world.bound.at(-1), [id, [{ service: 'stock' }]]);
    await world.kube.delete(ref);
    await world.reconcile();
    t.same(world.bound.at(-1), [id, []]);
    t.same([world.deleted, world.kube.all(kinds.Job)], [[id], []]);
  });
});

t.test('a secret is in the environment of later runs', async (t) => {
  const world = jobWorld({ env: [{ name: 'KEY', value: '${API_KEY}!' }] });
  await world.kube.mergePatch(ref, { metadata: { annotations: { [secretsExpectedAnnotation]: 'true' } } });
  await world.ask(1);
  await world.reconcile();
  t.match(world.job().status, {
    phase: 'pending',
    message: /secrets of its create request.*svc job secret set report/,
  });
  t.equal(world.runs().length, 0, 'runs of a new job wait until its secrets are stored');
  await setSecret(world, 'API_KEY', 'hush');
  await world.reconcile();
  t.same(await variablesOf(world, first), { API_KEY: 'hush', KEY: 'hush!' });
  await setSecret(world, 'API_KEY', 'changed');
  await world.ask(2);
  await world.reconcile();
  t.same(await variablesOf(world, second), { API_KEY: 'changed', KEY: 'changed!' });
  t.same(await variablesOf(world, first), { API_KEY: 'hush', KEY: 'hush!' }, 'a run keeps its own');
  t.notMatch(JSON.stringify([world.runs(), world.job()]), /hush|changed/);
});

t.test('a kill at any write: a run that waited for its binding starts once', async (t) => {
  const cut = async (at: number) => {
    const world = jobWorld({ bindings: [{ service: 'orders', version: 1 }] });
    await world.ask(1);
    await world.reconcile();
    await provision(world, 'orders', 1);
    await report(world, { service: 'orders', version: 1, phase: 'ready' });
    const before = world.writes();
    world.kube.intercept = ({ verb }) => {
      if (verb !== 'get' && verb !== 'list' && world.writes() - before > at) throw new Error('the process has ended');
    };
    const ended = await world.reconcile().then(
      () => true,
      () => false,
    );
    world.kube.intercept = undefined;
    await world.reconcile();
    t.equal(world.runs().length, 1, `after write ${at}`);
    t.notOk(world.job().spec.runRequests);
    t.equal(environments(world).length, 1);
    return ended;
  };
  let at = 0;
  while (!(await cut(at))) at += 1;
  t.ok(at >= 4, `${at} writes to be killed at`);
});
