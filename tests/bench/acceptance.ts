import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import pg from 'pg';
import { Pool } from 'undici';
import type { App } from '../../runtime/contracts/resources/app.ts';
import { kinds } from '../../runtime/contracts/resources/kinds.ts';
import type { Project } from '../../runtime/contracts/resources/project.ts';
import { newId } from '../../runtime/domain/ids.ts';
import { idLabel } from '../../runtime/domain/labels.ts';
import { projectWorkload } from '../../runtime/records/workloads.ts';
import { platformConfigObject } from '../support/objects.ts';
import { processorSeconds, signIn, startConsole, treeProcessorSeconds, type BenchConsole } from './api/console.ts';
import { createWorkloads } from './controllers/workloads.ts';
import { median, printFigure } from './figure.ts';

const say = (line: string) => process.stderr.write(`${line}\n`);
/** 2,000 accepted a second on one core, in µs of it. */
const target = { operator: '<=', value: 500 } as const;

/**
 * The processor time that accepting a webhook takes in console-api and in PostgreSQL, while `--connections <n>` (32) callers
 * send as fast as they are answered: the limit of what one core of each accepts in a second. Without ingress and workers.
 * `--apps <n>` (100), `--requests <n>` a round (4,000), `--rounds <n>` (3).
 */
export async function run(args: string[]): Promise<void> {
  const option = (value: string) => ({ type: 'string', default: value }) as const;
  const { values } = parseArgs({
    args,
    options: { apps: option('100'), requests: option('4000'), rounds: option('3'), connections: option('32') },
  });
  const requests = Number(values.requests);
  const folder = mkdtempSync(join(tmpdir(), 'svc-bench-'));
  const ends: (() => unknown)[] = [() => rmSync(folder, { recursive: true, force: true, maxRetries: 10 })];
  try {
    const unlimited = { WEBHOOK_RATE_PER_SECOND: '1000000', WEBHOOK_BURST: '1000000' };
    const api = await startConsole(folder, { teardown: (end) => ends.unshift(end) }, unlimited);
    const tokens = await createWebhooks(api, Number(values.apps));
    const pool = new Pool(api.base, { connections: Number(values.connections) });
    ends.unshift(() => pool.close());
    const measured = { api: [] as number[], postgres: [] as number[], rate: [] as number[] };
    for (let round = -1; round < Number(values.rounds); round++) {
      const [apiBefore, storeBefore] = [processorSeconds(api.pid), treeProcessorSeconds(api.storePid)];
      const startedAt = performance.now();
      let sent = 0;
      const work = async () => {
        for (let number = sent++; number < requests; number = sent++) {
          const [app, token] = tokens[number % tokens.length] ?? ['', ''];
          const { statusCode, body } = await pool.request({
            path: `/api/v1/webhook/bench0-prod/${app}`,
            method: 'POST',
            headers: { 'content-type': 'application/json', 'x-svc-token': token },
            body: JSON.stringify({ image: `registry.test/bench:${round + 1}-${number}` }),
          });
          const text = await body.text();
          if (statusCode !== 202) throw new Error(`a webhook answered ${statusCode}: ${text}`);
        }
      };
      await Promise.all(Array.from({ length: Number(values.connections) }, work));
      const seconds = (performance.now() - startedAt) / 1000;
      const micros = {
        api: ((processorSeconds(api.pid) - apiBefore) * 1e6) / requests,
        postgres: ((treeProcessorSeconds(api.storePid) - storeBefore) * 1e6) / requests,
        rate: requests / seconds,
      };
      say(`api ${micros.api.toFixed(0)} µs, PostgreSQL ${micros.postgres.toFixed(0)} µs, ${micros.rate.toFixed(0)}/s`);
      // The first round warms up.
      if (round >= 0) for (const name of ['api', 'postgres', 'rate'] as const) measured[name].push(micros[name]);
    }
    printFigure({ name: 'acceptance.api.cpu', value: median(measured.api), unit: 'µs', target });
    printFigure({ name: 'acceptance.postgres.cpu', value: median(measured.postgres), unit: 'µs', target });
    printFigure({ name: 'acceptance.rate', value: median(measured.rate), unit: '/s' });
    await checkNothingLost(api, requests * (Number(values.rounds) + 1));
  } finally {
    for (const end of ends) await end();
  }
}

/** @returns the name of each app with its token */
async function createWebhooks(
  { kube, database, base, password }: BenchConsole,
  apps: number,
): Promise<[string, string][]> {
  await kube.create(platformConfigObject);
  const environment = { name: 'prod', id: newId() };
  const { apiVersion, kind } = kinds.Project;
  const metadata = { name: 'bench0', labels: { [idLabel]: newId() } };
  await kube.create({ apiVersion, kind, metadata, spec: { environments: [environment] } } as Project);
  await kube.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'bench0-prod' } });
  const status = { phase: 'ready', environments: [{ ...environment, namespace: 'bench0-prod', ready: true }] };
  await kube.mergePatch({ apiVersion, kind, name: 'bench0' }, { status }, 'status');
  await createWorkloads(kube, 'bench0', { functions: 0, apps });
  const records = new pg.Pool({ connectionString: database, max: 2 });
  for (const { metadata: app } of (await kube.list<App>(kinds.App, { namespace: 'bench0-prod' })).items) {
    await projectWorkload(records, {
      id: app.labels?.[idLabel] ?? '',
      kind: 'App',
      environmentId: environment.id,
      project: 'bench0',
      environment: 'prod',
      namespace: 'bench0-prod',
      name: app.name,
      gated: false,
    });
  }
  await records.end();
  const token = await signIn(base, password);
  const tokens: [string, string][] = [];
  for (let number = 0; number < apps; number++) {
    const answer = await fetch(`${base}/api/v1/projects/bench0/apps/a${number}/webhook`, {
      method: 'PUT',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
      body: '{}',
    });
    const webhook = (await answer.json()) as { token?: string };
    if (webhook.token === undefined) throw new Error(`a webhook was not enabled: ${JSON.stringify(webhook)}`);
    tokens.push([`a${number}`, webhook.token]);
  }
  return tokens;
}

/** Each accepted webhook has a record, a work row and a delivery. */
async function checkNothingLost({ database }: BenchConsole, accepted: number): Promise<void> {
  const client = new pg.Client({ connectionString: database });
  await client.connect();
  const { rows } = await client.query<{ lost: number }>(
    `SELECT $1 - least((SELECT count(*) FROM deployments), (SELECT count(*) FROM work WHERE kind = 'rollouts'),
       (SELECT count(*) FROM webhook_deliveries))::integer AS lost`,
    [accepted],
  );
  await client.end();
  printFigure({
    name: 'acceptance.lost',
    value: rows[0]?.lost ?? 0,
    unit: 'webhooks',
    target: { operator: '<=', value: 0 },
  });
}
