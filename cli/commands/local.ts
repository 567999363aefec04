import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { homeAt, homeFolder } from '../../infra/local/home.ts';
import { readRunInfo } from '../../infra/run-info.ts';
import { findSupervisor, stopSupervisor } from '../../infra/local/supervisor.ts';
import type { Pod } from '../../runtime/contracts/pod.ts';
import { kinds } from '../../runtime/contracts/resources/kinds.ts';
import { systemNamespace } from '../../runtime/domain/labels.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import { command } from '../command.ts';
import { outputFlag, yesFlag } from '../common-flags.ts';
import type { LocalPlatform, WaitingProcess } from '../context.ts';
import { Failure } from '../failure.ts';
import { amount, toggle } from '../flags.ts';
import { fields } from '../output.ts';
import { confirm } from '../prompt.ts';

export const upCommand = command({
  name: 'up',
  description: 'Start the platform on this machine. Existing data is kept.',
  flags: {
    port: amount('<port>', 'port of the ingress (default: the last one, or the first free from 8080)', {
      min: 1,
      max: 65_535,
    }),
    failpoints: toggle('let files in /failpoints kill the workers, for tests', { hidden: true }),
    ...outputFlag,
  },
  examples: ['svc up', 'svc up --port 9000'],
  async run({ context, flags }) {
    // The npm package has the command line only.
    if (import.meta.filename.endsWith('.js')) {
      throw new Failure('The npm package of svc has the command line, but not the platform.', {
        code: 'not_installed',
        hint: 'in a clone of the repository, run: npm link, then svc up',
      });
    }
    const { upLocal } = await import('../../infra/local/up.ts');
    const { port, failpoints } = flags;
    const folder = homeFolder(context.env);
    const info = await upLocal({ folder, failpoints, log: context.say, ...(port !== undefined && { port }) });
    context.print(
      {
        data: info,
        table: fields([
          ['Console', info.api],
          ['Admin', info.adminEmail],
          ['Password', `in ${info.adminPasswordFile}`],
          ['Kubeconfig', info.kubeconfig],
        ]),
        names: [info.api],
      },
      flags.output,
    );
  },
});

export const downCommand = command({
  name: 'down',
  description: 'Stop the platform on this machine. Data is kept unless --purge is set.',
  flags: { purge: toggle('also delete all resources, data and images'), ...yesFlag },
  examples: ['svc down', 'svc down --purge --yes'],
  async run({ context, flags }) {
    const folder = homeFolder(context.env);
    const platform = localPlatform(context.env);
    if (platform?.target === 'cluster' && platform.process === undefined) {
      throw new Failure(
        `The platform of ${folder} runs on a cluster. svc down stops only platforms that svc up started.`,
        {
          code: 'not_on_this_machine',
          hint: 'for another folder: SVC_HOME=<folder> svc down; for the test cluster: npm run testcluster -- down',
        },
      );
    }
    if (flags.purge) await confirm(context, flags, `Delete ${folder} with all apps, functions, volumes and records?`);
    const stopped = await stopSupervisor(homeAt(folder));
    context.say(stopped ? 'the platform on this machine is stopped' : 'the platform on this machine was not running');
    if (!flags.purge) return;
    await rm(folder, { recursive: true, force: true });
    context.say(`${folder} is deleted`);
  },
});

/** The platform that was last started from this machine, if any. */
export function localPlatform(env: NodeJS.ProcessEnv): LocalPlatform | undefined {
  const folder = homeFolder(env);
  try {
    const { target, api, kubeconfig } = readRunInfo(folder);
    const process = findSupervisor(homeAt(folder))?.pid;
    return {
      target,
      api,
      process,
      waitingProcesses: () => waitingProcesses(kubeconfig),
      volumes: () => claimFolders(kubeconfig, join(homeAt(folder).node, 'claims')),
    };
  } catch {
    return undefined;
  }
}

/** Reads from the embedded API server, which answers when the platform's own API does not. */
async function readObjects<T>(kubeconfig: string, read: (kube: Pick<KubeClient, 'list'>) => Promise<T>): Promise<T> {
  const { createKubeClient } = await import('../../runtime/kube/client.ts');
  const { loadKubeConfig } = await import('../../runtime/kube/kubeconfig.ts');
  const kube = createKubeClient(loadKubeConfig(kubeconfig));
  try {
    return await read(kube);
  } finally {
    await kube.close();
  }
}

function waitingProcesses(kubeconfig: string): Promise<WaitingProcess[]> {
  return readObjects(kubeconfig, async (kube) => {
    const { items } = await kube.list<Pod>(kinds.Pod, { namespace: systemNamespace });
    return items.flatMap(({ status }) =>
      (status?.containerStatuses ?? []).flatMap(({ name, state }) =>
        state?.waiting?.reason === 'CrashLoopBackOff' ? [{ name, message: state.waiting.message ?? '' }] : [],
      ),
    );
  });
}

/** The folder of each persistent volume claim; the embedded node has one with the uid of each. */
function claimFolders(kubeconfig: string, claims: string): Promise<{ name: string; folder: string }[]> {
  return readObjects(kubeconfig, async (kube) => {
    const { items } = await kube.list(kinds.PersistentVolumeClaim);
    return items.map(({ metadata: { namespace, name, uid } }) => ({
      name: `${namespace}/${name}`,
      folder: join(claims, uid),
    }));
  });
}
