import { setTimeout as wait } from 'node:timers/promises';
import type pg from 'pg';
import { Pool } from 'undici';
import type { Caller, Target } from '../deploys/callers.ts';
import { deploymentStates } from '../deploys/database.ts';

/** What the tenants use who are not the attacker. */
export interface Tenants {
  ingress: string;
  database: pg.Client;
  /** The namespace of all their apps. */
  namespace: string;
  caller: Caller;
  /** A gated app. */
  gated: { url: string; key: string };
  /** An app with a pod. */
  deployed: Target;
  /** Apps without pods. */
  targets: readonly Target[];
}

/** How long the parts of one measurement take. */
export interface Times {
  /** Gated requests and deployments. */
  steadySeconds: number;
  /** Webhooks, as many as are accepted. */
  burstSeconds: number;
}

/** What one measurement saw. */
export interface Measured {
  /** From when a gated request was due until its answer; infinite for one that was not answered with 200. */
  gateMs: number[];
  /** From the first call of the webhook until the end of the rollout. */
  deploymentMs: number[];
  accepted: number;
  burstSeconds: number;
}

/** Gated requests per second: so few that their times are their own. */
const gateRate = 100;
const gateLimitMs = 10_000;
const deployEveryMs = 2_000;
const deployLimitMs = 60_000;
const burstCallers = 8;

let deployments = 0;

/**
 * Measures the tenants' load once: gated requests at a steady rate beside one deployment after the other, and then
 * webhooks of eight callers. Resolves when what the webhooks began has ended.
 */
export async function measure(tenants: Tenants, times: Times): Promise<Measured> {
  const end = performance.now() + times.steadySeconds * 1000;
  const [gateMs, deploymentMs] = await Promise.all([gatedRequests(tenants, end), rollouts(tenants, end)]);
  const startedAt = performance.now();
  const accepted = await burst(tenants, startedAt + times.burstSeconds * 1000);
  return { gateMs, deploymentMs, accepted, burstSeconds: (performance.now() - startedAt) / 1000 };
}

/** Sends each request when it is due, also while earlier ones wait. */
async function gatedRequests({ ingress, gated }: Tenants, end: number): Promise<number[]> {
  const { host, pathname } = new URL(gated.url);
  const pool = new Pool(ingress, { connections: 200, pipelining: 1, headersTimeout: gateLimitMs });
  const send = async (due: number): Promise<number> => {
    try {
      const answer = await pool.request({ path: pathname, method: 'GET', headers: { host, 'x-api-key': gated.key } });
      await answer.body.dump();
      return answer.statusCode === 200 ? performance.now() - due : Infinity;
    } catch {
      return Infinity;
    }
  };
  const answers: Promise<number>[] = [];
  const startedAt = performance.now();
  for (let due = startedAt; due < end; due = startedAt + (answers.length * 1000) / gateRate) {
    await wait(Math.max(0, due - performance.now()));
    answers.push(send(due));
  }
  const times = await Promise.all(answers);
  await pool.close();
  return times;
}

async function rollouts({ caller, database, deployed }: Tenants, end: number): Promise<number[]> {
  const times: number[] = [];
  while (performance.now() < end) {
    const startedAt = performance.now();
    const image = `localhost:5000/svc/hello:v${1 + (deployments++ % 2)}`;
    times.push(
      (await isRolledOut(database, () => caller.deploy(deployed, image), startedAt + deployLimitMs))
        ? performance.now() - startedAt
        : Infinity,
    );
    await wait(Math.max(0, Math.min(end, startedAt + deployEveryMs) - performance.now()));
  }
  return times;
}

/** Calls the webhook until it accepts, as its senders do, and waits for the end. */
async function isRolledOut(
  database: pg.Client,
  deploy: () => ReturnType<Caller['deploy']>,
  limit: number,
): Promise<boolean> {
  let id: string | undefined;
  while (performance.now() < limit) {
    id ??= (await deploy().catch(() => undefined))?.id;
    if (id !== undefined) {
      const { rows } = await database.query<{ state: string }>('SELECT state FROM deployments WHERE id = $1', [id]);
      if (rows[0]?.state === 'succeeded') return true;
      if (rows[0]?.state === 'failed') return false;
    }
    await wait(id === undefined ? 100 : 10);
  }
  return false;
}

async function burst({ caller, targets }: Tenants, end: number): Promise<number> {
  let accepted = 0;
  let next = 0;
  const work = async () => {
    while (performance.now() < end) {
      const target = targets[next++ % targets.length];
      if (!target) throw new Error('there are no apps');
      const call = await caller.deploy(target, `registry.test/siege:${next}`).catch(() => undefined);
      if (call?.status === 202) accepted++;
    }
  };
  await Promise.all(Array.from({ length: burstCallers }, work));
  return accepted;
}

/** Waits until the tenants' deployments have ended. */
export async function settled({ database, namespace }: Tenants): Promise<void> {
  for (;;) {
    const { accepted = 0, building = 0, rolling_out: rolling = 0 } = await deploymentStates(database, namespace);
    if (accepted + building + rolling === 0) return;
    await wait(50);
  }
}
