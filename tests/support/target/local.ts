import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { homeAt, homeFolder } from '../../../infra/local/home.ts';
import { entryPoint } from '../../../infra/local/cluster.ts';
import { createIngress } from '../../../infra/local/ingress/ingress.ts';
import { isAlive, type ProcessRecord } from '../../../infra/process-record.ts';
import { systemClock } from '../../../runtime/domain/clock.ts';
import { createKubeClient } from '../../../runtime/kube/client.ts';
import { createInformers } from '../../../runtime/kube/informers.ts';
import { loadKubeConfig } from '../../../runtime/kube/kubeconfig.ts';
import { silentLog } from '../log.ts';
import { eventually, type Platform } from '../platform.ts';
import { switchedRelay } from './relay.ts';
import type { Teardown } from './target-types.ts';
import type { Target } from './target-types.ts';

const system = 'svc-system';

interface Pod {
  metadata: { uid: string; deletionTimestamp?: string };
  spec: { containers: { name: string }[] };
}

interface Deployment {
  spec: { template: { spec: { containers: { env: { name: string; value?: string }[] }[] } } };
}

/** The embedded cluster: its containers are processes of this machine, recorded by the node. */
export function localTarget(platform: Platform): Target {
  const { node } = homeAt(homeFolder(process.env));
  const find = async <T>(...args: string[]) => {
    const { stdout } = await eventually(
      () => platform.kubectl('-n', system, 'get', ...args, '-o', 'json'),
      ({ code }) => code === 0,
    );
    return JSON.parse(stdout) as T;
  };
  const podOf = async (name: string): Promise<Pod | undefined> => {
    const [kind = '', deployment] = name.split('/');
    if (deployment === undefined) return find<Pod>('pod', kind);
    const { items } = await find<{ items: Pod[] }>('pods', '-l', `app=${deployment}`);
    return items.find(({ metadata }) => metadata.deletionTimestamp === undefined);
  };
  /** The id of the process that the node started, once it has one. */
  const processOf = async (name: string): Promise<number> => {
    const record = await eventually(
      async () => {
        const pod = await podOf(name);
        const container = pod?.spec.containers[0]?.name ?? '';
        return pod && recorded(join(node, 'pods', pod.metadata.uid, 'containers', container, 'process.json'));
      },
      (value) => value !== undefined,
    );
    if (!record) throw new Error(`${name} has no process`);
    return record.pid;
  };
  return {
    async signal(pod, signal) {
      process.kill(await processOf(pod), `SIG${signal}`);
    },
    async pause(pod, seconds) {
      const pid = await processOf(pod);
      process.kill(pid, 'SIGSTOP');
      await wait(seconds * 1000);
      process.kill(pid, 'SIGCONT');
    },
    async storeSwitch(t) {
      const { spec } = await find<{ spec: { clusterIP: string } }>('service', 'svc-postgres');
      const relay = await switchedRelay({ host: spec.clusterIP, port: 5432 });
      const before = await find<Deployment>('deployment', 'svc-authz');
      t.teardown(async () => {
        relay.restore();
        await setVariables(platform, before);
        await relay.stop();
      });
      const url = `postgresql://svc@127.0.0.1:${relay.port}/svc`;
      await setVariables(platform, before, { name: 'DATABASE_URL', value: url });
      return { cut: () => Promise.resolve(relay.cut()), restore: () => Promise.resolve(relay.restore()) };
    },
    trustingIngress: (t) => trustingIngress(t, platform),
  };
}

function recorded(file: string): ProcessRecord | undefined {
  try {
    const record = JSON.parse(readFileSync(file, 'utf8')) as ProcessRecord | null;
    return record && isAlive(record) ? record : undefined;
  } catch {
    return undefined;
  }
}

/** Restores the checkers' environment, adds this, and resolves when no other checkers exist. */
async function setVariables(
  platform: Platform,
  { spec: { template } }: Deployment,
  ...added: { name: string; value: string }[]
): Promise<void> {
  const containers = template.spec.containers.map((each) => ({ ...each, env: [...each.env, ...added] }));
  const patch = JSON.stringify({ spec: { template: { spec: { containers } } } });
  for (const change of [
    ['patch', 'deployment', 'svc-authz', '--type=merge', '-p', patch],
    ['rollout', 'status', 'deployment/svc-authz', '--timeout=25s'],
  ]) {
    await eventually(
      () => platform.kubectl('-n', system, ...change),
      ({ code }) => code === 0,
    );
  }
}

async function trustingIngress(t: Teardown, platform: Platform): Promise<string> {
  const kube = createKubeClient(loadKubeConfig(platform.info.kubeconfig));
  const informers = createInformers({ kube, clock: systemClock, log: silentLog });
  const ingress = createIngress({
    informers,
    clock: systemClock,
    log: silentLog,
    port: 0,
    host: '127.0.0.1',
    entryPoints: [entryPoint],
    trusted: (address) => address === '127.0.0.1',
    drainMs: 0,
  });
  informers.start();
  t.teardown(async () => {
    await ingress.stop();
    await informers.stop();
    await kube.close();
  });
  return `http://127.0.0.1:${await ingress.start()}`;
}
