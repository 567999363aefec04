import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { homeAt, homeFolder } from '../../../../infra/local/home.ts';
import { findSupervisor } from '../../../../infra/local/supervisor-record.ts';
import { readPorts } from '../../../../infra/local/ports.ts';
import { upLocal } from '../../../../infra/local/up.ts';
import { isAlive, type ProcessRecord } from '../../../../infra/process-record.ts';
import { eventually, runningPlatform } from '../../../support/platform.ts';
import { someOperations, workUnderFaults } from '../../../support/work-under-faults.ts';

/**
 * The process of the embedded cluster is killed while apps and functions are created, changed and deleted, and started
 * again: every object settles by itself, none twice and none lost, and no earlier process remains.
 */
const platform = await runningPlatform();
const home = homeAt(homeFolder(process.env));
const work = await workUnderFaults(t, platform);

t.test('API server, controllers, node and ingress are killed at once, twice', async (t) => {
  await work.healthy();
  const churn = await work.churn(t, 'killed');
  await churn.advance(someOperations);
  await work.deploy();
  for (let time = 0; time < 2; time++) {
    const before = recordedProcesses();
    t.ok(before.length > 5, 'the platform, its stores and the workloads');
    const killed = findSupervisor(home);
    if (!killed) return t.fail('it does not run');
    process.kill(killed.pid, 'SIGKILL');
    await eventually(
      () => Promise.resolve(isAlive(killed)),
      (alive) => !alive,
    );
    await upLocal({ folder: home.folder, failpoints: true, log: () => undefined });
    t.same(before.filter(isAlive), [], 'none of its children outlived it');
    await churn.advance(someOperations);
  }
  await work.settled(t, churn);
  await work.healthy();
  await work.serving();
  await work.deployed(t);
  return undefined;
});

t.test('a running platform keeps its port, and the command that asks for another says how to change it', async (t) => {
  const { ingress } = readPorts(home.ports);
  const options = { folder: home.folder, failpoints: true, log: () => undefined };
  await t.rejects(upLocal({ ...options, port: ingress + 1 }), {
    message: `The platform already runs on port ${ingress}. To change the port, stop it first: svc down && svc up --port ${ingress + 1}`,
  });
  await t.resolves(upLocal({ ...options, port: ingress }));
});

/** The processes that the node reports. */
function recordedProcesses(): ProcessRecord[] {
  const pods = join(home.node, 'pods');
  const records = readdirSync(pods).flatMap((uid) => {
    const containers = join(pods, uid, 'containers');
    return entriesOf(containers).flatMap((name) => recordOf(join(containers, name, 'process.json')) ?? []);
  });
  return records.filter(isAlive);
}

/** A pod may disappear during the loop. */
function entriesOf(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

function recordOf(file: string): ProcessRecord | null {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as ProcessRecord | null;
  } catch {
    return null;
  }
}
