import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { Pool } from 'undici';
import { kinds } from '../../runtime/contracts/resources/kinds.ts';
import type { Project } from '../../runtime/contracts/resources/project.ts';
import { systemClock } from '../../runtime/domain/clock.ts';
import { newId } from '../../runtime/domain/ids.ts';
import { idLabel } from '../../runtime/domain/labels.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import { platformConfigObject } from '../support/objects.ts';
import { processorSeconds, signIn, startConsole } from './api/console.ts';
import { median, printFigure } from './figure.ts';
import { isMachineFree } from './gate/cores.ts';
import { createWorkloads } from './controllers/workloads.ts';

const connections = 8;
const say = (line: string) => process.stderr.write(`${line}\n`);

/**
 * The processor time that console-api takes for a request: lists of projects and apps, and a refusal for comparison, with
 * its own PostgreSQL and an embedded API server in this process, by eight clients with a session each. `--projects <n>`
 * (5), `--apps <n>` (20), `--requests <n>` a round (4,000), `--rounds <n>` (5), alternating; the figure is the median of the
 * rounds.
 */
export async function run(args: string[]): Promise<void> {
  const option = (value: string) => ({ type: 'string', default: value }) as const;
  const { values } = parseArgs({
    args,
    options: { projects: option('5'), apps: option('20'), requests: option('4000'), rounds: option('5') },
  });
  if (!(await isMachineFree('lists'))) return;
  const folder = mkdtempSync(join(tmpdir(), 'svc-bench-'));
  const ends: (() => unknown)[] = [() => rmSync(folder, { recursive: true, force: true, maxRetries: 10 })];
  try {
    const api = await startConsole(folder, { teardown: (end) => ends.unshift(end) });
    await seed(api.kube, { projects: Number(values.projects), apps: Number(values.apps) });
    const tokens: string[] = [];
    while (tokens.length < connections) tokens.push(await signIn(api.base, api.password));
    const pool = new Pool(api.base, { connections });
    ends.unshift(() => pool.close());
    const targets = {
      refused: { path: '/api/v1/projects', status: 401 },
      projects: { path: '/api/v1/projects', status: 200 },
      project: { path: '/api/v1/projects/bench0', status: 200 },
      apps: { path: '/api/v1/projects/bench0/apps', status: 200 },
    };
    // What the sign-in changed counts for ten seconds.
    await systemClock.sleep(11_000);
    const measured = Object.fromEntries(Object.keys(targets).map((name) => [name, [] as number[]]));
    for (let round = -1; round < Number(values.rounds); round++) {
      for (const [name, { path, status }] of Object.entries(targets)) {
        const before = processorSeconds(api.pid);
        let left = Number(values.requests);
        const work = async (token: string) => {
          const headers = status === 401 ? {} : { authorization: `Bearer ${token}` };
          while (left-- > 0) {
            const answer = await pool.request({ path, method: 'GET', headers });
            await answer.body.dump();
            if (answer.statusCode !== status) throw new Error(`${path} answered ${answer.statusCode}`);
          }
        };
        await Promise.all(tokens.map(work));
        const micros = ((processorSeconds(api.pid) - before) * 1e6) / Number(values.requests);
        // The first round warms up.
        if (round >= 0) measured[name]?.push(micros);
        say(`${name} ${micros.toFixed(0)} µs`);
      }
    }
    for (const [name, micros] of Object.entries(measured)) {
      const target = name === 'projects' ? ({ operator: '<=', value: 110 } as const) : undefined;
      printFigure({ name: `lists.${name}.cpu`, value: median(micros), unit: 'µs', ...(target && { target }) });
    }
  } finally {
    for (const end of ends) await end();
  }
}

async function seed(kube: KubeClient, { projects, apps }: { projects: number; apps: number }): Promise<void> {
  await kube.create(platformConfigObject);
  for (let number = 0; number < projects; number++) {
    const name = `bench${number}`;
    const environment = { name: 'prod', id: newId() };
    const { apiVersion, kind } = kinds.Project;
    const metadata = { name, labels: { [idLabel]: newId() } };
    await kube.create({ apiVersion, kind, metadata, spec: { environments: [environment] } } as Project);
    await kube.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: `${name}-prod` } });
    const status = { phase: 'ready', environments: [{ ...environment, namespace: `${name}-prod`, ready: true }] };
    await kube.mergePatch({ apiVersion, kind, name }, { status }, 'status');
  }
  await createWorkloads(kube, 'bench0', { functions: 0, apps });
}
