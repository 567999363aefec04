import { setTimeout as wait } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { node } from '../../infra/testcluster/settings.ts';
import { createKubeClient } from '../../runtime/kube/client.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import { loadKubeConfig } from '../../runtime/kube/kubeconfig.ts';
import { runningPlatform, uniqueName } from '../support/platform.ts';
import { removeProject } from './controllers/workloads.ts';
import { createCaller } from './deploys/callers.ts';
import { median, printFigure, type Target } from './figure.ts';
import { othersShare, setForemost } from './gate/cores.ts';
import { startAttacker, type RunningAttacker } from './siege/attacker-client.ts';
import { attackNames, type AttackName, type Victim } from './siege/attackers.ts';
import { measure, settled, type Measured, type Tenants, type Times } from './siege/load.ts';
import { allowGitServer, createAttackerProject, createTenants, restartsBetween, restartsByPod } from './siege/world.ts';

/** From the beginning of an attack until it is measured. */
const rampMs = 1_000;
const burstCallers = 8;
const say = (line: string) => process.stderr.write(`${line}\n`);

interface Settings extends Times {
  rounds: number;
  apps: number;
  attacks: readonly AttackName[];
  /** Measures the attacks only at once, not each alone. */
  together: boolean;
}

function settings(args: string[]): Settings {
  const { values } = parseArgs({
    args,
    options: {
      quick: { type: 'boolean', default: false },
      attack: { type: 'string', multiple: true },
      together: { type: 'boolean', default: false },
    },
  });
  const { quick, together } = values;
  const attacks = attackNames.filter((name) => values.attack?.includes(name) ?? true);
  if (attacks.length < (values.attack?.length ?? 0)) throw new Error(`--attack is one of ${attackNames.join(', ')}`);
  // With fewer, the webhook limit of an app, 10 a second, would bound what is measured.
  const apps = 200;
  if (quick) return { attacks, apps, together, rounds: 3, steadySeconds: 4, burstSeconds: 4 };
  return { attacks, apps, together, rounds: 7, steadySeconds: 8, burstSeconds: 4 };
}

/**
 * What attacks cost the other tenants of a running platform that is otherwise unused (`SVC_HOME`, else the one of
 * `npm start`). The tenants' load is 100 gated requests a second beside one deployment after the other, then webhooks
 * of eight callers. It is measured quiet and under each attack in turns, several times, and at last under all attacks at
 * once; the figures compare the two, so that a machine whose speed drifts compares like with like.
 *
 * The attacks: 700 unfinished bodies of 1 MB, webhooks of 256 KiB against regular expressions, an item of 32 MiB in a
 * Redis that is an event source, a git source with references without end, and 10,000 wrong logins from a
 * thousand addresses, spread over all rounds. Each runs in a process of its own at the lowest priority and at a bounded rate, so that two cores
 * measure what the platform spends on an attack and not what the attacker does; `attacker-cores` is what it used. The
 * tenants' clients, which stand for other machines, do not wait for a core.
 *
 * `--quick` measures for less time (under ten minutes); `--attack <name>`, repeated, chooses attacks; `--together`
 * measures them only all at once.
 */
export async function run(args: string[]): Promise<void> {
  const chosen = settings(args);
  const platform = await runningPlatform();
  const kube = createKubeClient(loadKubeConfig(platform.info.kubeconfig));
  const caller = createCaller(platform.info.ingress, burstCallers);
  const host = platform.info.target === 'cluster' ? node.address : '127.0.0.1';
  const projects = { tenants: uniqueName('siege'), attacker: uniqueName('attacker') };
  printFigure({ name: 'siege.machine-used-by-others', value: await othersShare(), unit: 'ratio' });
  const attackers: RunningAttacker[] = [];
  let tenants: Tenants | undefined;
  let forbidGitServer: (() => Promise<unknown>) | undefined;
  try {
    if (chosen.attacks.includes('git')) forbidGitServer = await allowGitServer(platform, host);
    tenants = await createTenants(platform, kube, caller, { project: projects.tenants, apps: chosen.apps });
    for (const name of chosen.attacks) {
      attackers.push(await startAttacker(name, { ingress: platform.info.ingress, host }));
    }
    const victims = await createAttackerProject(platform, kube, {
      project: projects.attacker,
      host,
      attacks: chosen.attacks,
      gitPort: attackers.find(({ name }) => name === 'git')?.port,
    });
    // The first webhook of each app reads its token from the cluster, and new processes have cold caches.
    await measure(tenants, { steadySeconds: 2, burstSeconds: 2 });
    await settled(tenants);
    // The attackers, which would inherit it, have started.
    setForemost(process.pid, true);
    const alone = chosen.together ? [] : attackers;
    for (const attacker of alone) await besiege(attacker.name, [attacker], { kube, tenants, victims, chosen });
    if (attackers.length > 1) await besiege('all', attackers, { kube, tenants, victims, chosen });
  } finally {
    for (const attacker of attackers) attacker.stop();
    setForemost(process.pid, false);
    await forbidGitServer?.();
    await caller.close();
    for (const project of Object.values(projects)) await removeProject(kube, project);
    await tenants?.database.end();
    await kube.close();
  }
}

/** Measures in turns, quiet and under these attacks, and prints the figures. */
async function besiege(
  name: string,
  attackers: readonly RunningAttacker[],
  world: { kube: KubeClient; tenants: Tenants; victims: Record<AttackName, Victim[]>; chosen: Settings },
): Promise<void> {
  const { kube, tenants, victims, chosen } = world;
  const pods = await restartsByPod(kube);
  const [quiet, attacked]: [Measured[], Measured[]] = [[], []];
  const processor = () => attackers.reduce((sum, attacker) => sum + attacker.seconds(), 0);
  const secondsBefore = processor();
  let attackMs = 0;
  for (let round = 0; round < chosen.rounds; round++) {
    quiet.push(await measure(tenants, chosen));
    await settled(tenants);
    const startedAt = performance.now();
    for (const attacker of attackers) await attacker.begin(victims[attacker.name]);
    await wait(rampMs);
    attacked.push(await measure(tenants, chosen));
    for (const attacker of attackers) await attacker.end();
    attackMs += performance.now() - startedAt;
    await settled(tenants);
  }
  for (const attacker of attackers) say(`${attacker.name}: ${JSON.stringify(attacker.counts())}`);
  report(name, quiet, attacked);
  const cores = ((processor() - secondsBefore) * 1000) / attackMs;
  printFigure({ name: `siege.${name}.attacker-cores`, value: cores, unit: 'ratio' });
  const restarts = restartsBetween(pods, await restartsByPod(kube));
  const target = { operator: '<=', value: 0 } as const;
  printFigure({ name: `siege.${name}.restarts`, value: restarts, unit: 'restarts', target });
}

/** The median of the rounds' ratios counts: others may disturb one of them. */
function report(name: string, quiet: readonly Measured[], attacked: readonly Measured[]): void {
  const compare = (what: string, unit: string, of: (measured: Measured) => number, target: Target) => {
    const [before, after] = [quiet.map(of), attacked.map(of)];
    const rounds = before.map((figure, round) => `${figure.toFixed(1)} to ${after[round]?.toFixed(1)}`);
    say(`${name}: ${what}, ${unit}, quiet to attacked in each round: ${rounds.join(', ')}`);
    const value = median(after.map((figure, round) => figure / (before[round] ?? Number.NaN)));
    printFigure({ name: `siege.${name}.${what}.quiet`, value: median(before), unit });
    printFigure({ name: `siege.${name}.${what}`, value: median(after), unit });
    printFigure({ name: `siege.${name}.${what}.ratio`, value, unit: 'ratio', target });
  };
  const atMost = { operator: '<=', value: 1.5 } as const;
  compare('gate-p99', 'ms', ({ gateMs }) => percentile(gateMs, 0.99), atMost);
  const accepted = { operator: '>=', value: 0.7 } as const;
  compare('webhooks', '/s', (measured) => measured.accepted / measured.burstSeconds, accepted);
  compare('deployment', 'ms', ({ deploymentMs }) => median(deploymentMs), atMost);
}

function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.ceil(sorted.length * share) - 1] ?? Number.NaN;
}
