import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { Redis } from 'ioredis';
import pg from 'pg';
import t, { type Test } from 'tap';
import { createTokenStore } from '../../../functions/webhooks/token-store.ts';
import { generateWebhookToken } from '../../../runtime/domain/api-key.ts';
import type { App } from '../../../runtime/contracts/resources/app.ts';
import { kinds } from '../../../runtime/contracts/resources/kinds.ts';
import { systemClock } from '../../../runtime/domain/clock.ts';
import { parseKeyRing } from '../../../runtime/domain/sealed.ts';
import { migrate } from '../../../runtime/db/migrate.ts';
import { enableWebhook } from '../../../runtime/records/webhooks.ts';
import { fakeKube } from '../../support/fake-kube.ts';
import { silentLog } from '../../support/log.ts';
import { ownFolder } from '../../support/own-folder.ts';
import { startProcess, type PlatformProcess } from '../../support/platform-process.ts';
import { query } from '../../support/postgres.ts';
import { seededRandom, type Random } from '../../support/random.ts';
import { testRedis } from '../../support/redis.ts';
import { soakFactor, testSeed } from '../../support/soak.ts';
import { endServer, freePort, killServer, startPostgres } from '../../support/servers.ts';
import { serveApps } from './app-api-server.ts';
import { namespace, testApp, type TestApp } from './rollout-world.ts';
import { pretendPodsServe, testKeys } from './worker-world.ts';

/** Kills of workers, each at another moment of the rollouts in progress. */
const rounds = Math.min(12 * soakFactor(), 200);
/** Kills of the API while webhooks arrive. */
const apiRounds = Math.min(8 * soakFactor(), 100);
/** How often each process and store fails in turn. */
const faultRounds = Math.min(soakFactor(), 10);
const appNames = ['api', 'web', 'shop', 'mail'];
/** `SVC_SEED` repeats a run. */
const seed = testSeed();

/** An app with its webhook's token, and the answers that its callers received. */
interface Target extends TestApp {
  token: string;
  /** By the sender's delivery id: the deployment that a 202 named. */
  promised: Map<string, { id: string; revision: number; image: string }>;
}

/** The processes and stores of the rounds. */
interface World {
  pool: pg.Pool;
  targets: Target[];
  redis: { url: string; stop(): void; start(): Promise<void> };
  restartPostgres: () => Promise<void>;
  startApi: () => Promise<PlatformProcess>;
  startWorkers: () => Promise<PlatformProcess>;
  baseUrl: string;
  /** Simulates that the leases of killed processes have expired. */
  expireLeases: () => Promise<unknown>;
}

async function ownPostgres(t: Test) {
  const folder = mkdtempSync(join(tmpdir(), 'svc-postgres-'));
  let server = await startPostgres(folder, { survivesKill: true });
  t.teardown(() => {
    endServer(server.pid);
    rmSync(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 });
  });
  await query(`${server.url}/postgres`, 'CREATE DATABASE svc');
  const url = `${server.url}/svc`;
  await migrate({ url, clock: systemClock, log: silentLog });
  return {
    url,
    async restart() {
      await killServer(server.pid);
      server = await startPostgres(folder, { survivesKill: true, port: server.port });
    },
  };
}

/** console-api and svc-workers as separate processes, with the test's own PostgreSQL and Redis. */
async function world(t: Test): Promise<World> {
  const [database, redis] = await Promise.all([ownPostgres(t), testRedis(t)]);
  const pool = new pg.Pool({ connectionString: database.url });
  pool.on('error', () => undefined);
  t.teardown(() => pool.end());
  const kube = fakeKube();
  const kubeconfig = await serveApps(t, kube);
  pretendPodsServe(t, kube);
  const folder = ownFolder(t);
  writeFileSync(join(folder, 'password'), `${randomBytes(18).toString('base64url')}\n`);
  writeFileSync(join(folder, 'keys.json'), testKeys);
  const tokens = createTokenStore({ kube, keyRing: parseKeyRing(testKeys), log: silentLog });
  const targets: Target[] = [];
  for (const name of appNames) {
    const app = await testApp(pool, kube, name);
    const object = await kube.get<App>(kinds.App, name, namespace);
    if (!object) throw new Error('the App is not there');
    const token = generateWebhookToken();
    await enableWebhook(pool, app.id, await tokens.write(object, token, 0));
    targets.push({ ...app, token, promised: new Map() });
  }
  const [port, adminPort] = [await freePort(), await freePort()];
  const baseUrl = `http://127.0.0.1:${port}`;
  const stores = { DATABASE_URL: database.url, KUBECONFIG: kubeconfig };
  const started = async (process: PlatformProcess) => {
    const ended = process.ended.then((code) => {
      throw new Error(`it ended with ${code}: ${process.lines.at(-1)}`);
    });
    await Promise.race([process.logged('process started'), ended]);
    ended.catch(() => undefined);
    return process;
  };
  return {
    pool,
    targets,
    redis,
    baseUrl,
    restartPostgres: () => database.restart(),
    startApi: () =>
      started(
        startProcess(t, 'functions/main.ts', {
          ...stores,
          PORT: String(port),
          ADMIN_PORT: String(adminPort),
          EVENTS_PORT: '0',
          BASE_URL: baseUrl,
          ENCRYPTION_KEYS_FILE: join(folder, 'keys.json'),
          ADMIN_PASSWORD_FILE: join(folder, 'password'),
        }),
      ),
    startWorkers: () =>
      started(
        startProcess(t, 'workers/main.ts', {
          ...stores,
          ADMIN_PORT: '0',
          REDIS_URL: redis.url,
          ENCRYPTION_KEYS_FILE: join(folder, 'keys.json'),
        }),
      ),
    expireLeases: () =>
      retried(() => pool.query(`UPDATE work SET leased_until = now() WHERE leased_until IS NOT NULL`)),
  };
}

/** Retries until it succeeds, because PostgreSQL may be restarting. */
async function retried<Result>(work: () => Promise<Result>): Promise<Result> {
  for (;;) {
    try {
      return await work();
    } catch {
      await wait(25);
    }
  }
}

/** Calls the webhook as CI does: repeats the same delivery id until it is accepted. */
async function deploy({ baseUrl }: World, target: Target, image: string): Promise<void> {
  const delivery = randomBytes(8).toString('hex');
  const call = () =>
    fetch(`${baseUrl}/api/v1/webhook/${namespace}/${target.name}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-svc-token': target.token, 'idempotency-key': delivery },
      body: JSON.stringify({ image }),
    });
  for (;;) {
    const answer = await call().catch(() => undefined);
    const body = await answer?.text().catch(() => undefined);
    if (answer?.status === 202 && body !== undefined) {
      target.promised.set(delivery, { ...(JSON.parse(body) as { id: string; revision: number }), image });
      return;
    }
    await wait(25);
  }
}

/** Several deployments of several apps at once; resolves when each is accepted. */
async function deploySome(on: World, random: Random, round: number): Promise<void> {
  const victims = on.targets.filter(() => random.chance(0.5));
  const from = victims.length > 0 ? victims : [random.pick(on.targets)];
  await Promise.all(from.map((target, index) => deploy(on, target, `r/${target.name}:${round}-${index}`)));
}

/** Every 202 is exactly once in history and has ended; revisions have no gaps; the app runs the newest. */
async function holds(t: Test, { pool, targets }: World): Promise<void> {
  for (const target of targets.filter(({ promised }) => promised.size > 0)) {
    const { promised, name } = target;
    let entries = await target.history();
    for (; !entries.every(({ endedAt }) => endedAt); entries = await target.history()) await wait(25);
    const { rows } = await pool.query<{ id: string; revision: number; image: string; state: string }>(
      `SELECT id, revision, image, state FROM deployments WHERE workload_id = $1 ORDER BY revision DESC`,
      [target.id],
    );
    const ids = [...promised.values()].map(({ id }) => id);
    t.equal(new Set(ids).size, promised.size, `${name}: no two calls share a deployment`);
    t.same(rows.map(({ id }) => id).sort(), ids.sort(), `${name}: every 202 is once in history, and nothing else`);
    t.same(
      rows.map(({ revision }) => revision),
      rows.map((_, index) => rows.length - index),
      `${name}: revisions without a gap`,
    );
    t.ok(
      [...promised.values()].every(({ id, revision }) => rows.find((row) => row.id === id)?.revision === revision),
      `${name}: each has the revision from its answer`,
    );
    const [newest] = rows;
    t.equal(newest?.state, 'succeeded', `${name}: the newest succeeded`);
    const { release } = (await target.object()).spec;
    t.match(release, { deploymentId: newest?.id, image: newest?.image, generation: newest?.revision });
  }
}

const on = await world(t);
const random = seededRandom(seed);
/** Those of the test before go on, since starting them is most of what the rounds cost; each test starts what is missing. */
const processes: { api?: PlatformProcess; workers?: PlatformProcess } = {};

async function runningApi(): Promise<PlatformProcess> {
  return (processes.api ??= await on.startApi());
}

async function runningWorkers(): Promise<PlatformProcess> {
  return (processes.workers ??= await on.startWorkers());
}

/** Kills a process and resolves when it has ended, which must be by that. */
async function kill(t: Test, { child, ended }: PlatformProcess): Promise<void> {
  child.kill('SIGKILL');
  t.equal(await ended, 'SIGKILL');
}

async function killApi(t: Test): Promise<void> {
  const api = await runningApi();
  delete processes.api;
  await kill(t, api);
}

async function killWorkers(t: Test): Promise<void> {
  const workers = await runningWorkers();
  delete processes.workers;
  await kill(t, workers);
}

t.test(`the API is killed ${apiRounds} times around its commits (seed ${seed})`, { timeout: 1_800_000 }, async (t) => {
  await runningApi();
  for (let round = 0; round < apiRounds; round++) {
    // Several calls each, so that some are before their commit and some after it.
    const accepted = Promise.all([0, 1, 2].map((part) => deploySome(on, random, 3 * round + part)));
    await wait(random.between(0, 25));
    await killApi(t);
    await runningApi();
    await accepted;
  }
  // No workers have run yet.
  const objects = await Promise.all(on.targets.map((target) => target.object()));
  t.ok(
    objects.every(({ spec }) => spec.release === undefined),
    'the API itself rolls nothing out',
  );
});

t.test(`workers are killed ${rounds} times while apps deploy (seed ${seed})`, { timeout: 1_800_000 }, async (t) => {
  let [, , next] = await Promise.all([runningApi(), runningWorkers(), on.startWorkers()]);
  for (let round = 0; round < rounds; round++) {
    const accepted = deploySome(on, random, round);
    await wait(random.between(0, 60));
    await killWorkers(t);
    await accepted;
    await on.expireLeases();
    [processes.workers, next] = [next, await on.startWorkers()];
  }
  await on.expireLeases();
  await holds(t, on);
  await kill(t, next);
  await on.expireLeases();
});

t.test(`the API, PostgreSQL and Redis are killed too (seed ${seed})`, { timeout: 1_800_000 }, async (t) => {
  await Promise.all([runningApi(), runningWorkers()]);
  const faults = {
    async api() {
      await killApi(t);
      await runningApi();
    },
    async workers() {
      await killWorkers(t);
      await runningWorkers();
    },
    postgres: () => on.restartPostgres(),
    async flush() {
      const client = new Redis(on.redis.url);
      await client.flushall();
      client.disconnect();
    },
    async redis() {
      on.redis.stop();
      await wait(random.between(0, 500));
      await on.redis.start();
    },
  };
  const names = Object.keys(faults) as (keyof typeof faults)[];
  for (let round = 0; round < faultRounds * names.length; round++) {
    const accepted = deploySome(on, random, round);
    await wait(random.between(0, 60));
    await faults[names[round % names.length] ?? 'api']();
    await accepted;
    await on.expireLeases();
  }
  await on.expireLeases();
  await holds(t, on);
  t.equal(processes.workers?.child.exitCode, null, 'the workers survived the faults of their stores');
});
