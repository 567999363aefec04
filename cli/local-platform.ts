import { join } from 'node:path';
import { homeAt, homeFolder } from '../infra/local/home.ts';
import { findSupervisor } from '../infra/local/supervisor-record.ts';
import { readRunInfo } from '../infra/run-info.ts';
import type { Pod } from '../runtime/contracts/pod.ts';
import { systemNamespace } from '../runtime/domain/labels.ts';
import type { KubeClient } from '../runtime/kube/kube-client.ts';
import type { LocalPlatform, WaitingProcess } from './context.ts';

// Every command loads this module, and few need more than the file that it reads.

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
  const { createKubeClient } = await import('../runtime/kube/client.ts');
  const { loadKubeConfig } = await import('../runtime/kube/kubeconfig.ts');
  const kube = createKubeClient(loadKubeConfig(kubeconfig));
  try {
    return await read(kube);
  } finally {
    await kube.close();
  }
}

function waitingProcesses(kubeconfig: string): Promise<WaitingProcess[]> {
  return readObjects(kubeconfig, async (kube) => {
    const { kinds } = await import('../runtime/contracts/resources/kinds.ts');
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
    const { kinds } = await import('../runtime/contracts/resources/kinds.ts');
    const { items } = await kube.list(kinds.PersistentVolumeClaim);
    return items.map(({ metadata: { namespace, name, uid } }) => ({
      name: `${namespace}/${name}`,
      folder: join(claims, uid),
    }));
  });
}
