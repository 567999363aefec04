import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import t from 'tap';
import type { WorkloadName } from '../../../runtime/contracts/resources/claims.ts';
import { kinds, workloadResources } from '../../../runtime/contracts/resources/kinds.ts';
import { workloadFinalizer } from '../../../runtime/domain/labels.ts';
import { removeFinalizer } from '../../../runtime/kube/finalizers.ts';
import type { KubeClient } from '../../../runtime/kube/kube-client.ts';
import { noCluster, testCluster } from '../../support/kubernetes.ts';

const processes = 5;
const racersEach = 10;
const racer = join(import.meta.dirname, '../../support/name-racer.ts');

/** A process that waits for the start; `go` starts it and returns its results. */
async function startRacer(namespace: string, name: string) {
  const kubeconfig = process.env['SVC_TEST_KUBECONFIG'] ?? '';
  const child = spawn(process.execPath, [racer, kubeconfig, namespace, name, String(racersEach)], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const ended = once(child, 'exit');
  await lines.next();
  return {
    async go() {
      child.stdin.write('go\n');
      const line = (await lines.next()).value as string;
      await ended;
      return JSON.parse(line) as string[];
    },
  };
}

/** No controller may exist that deletes objects in a namespace that is not an environment. */
async function release(kube: KubeClient, namespace: string): Promise<void> {
  for (const resource of Object.values(workloadResources)) {
    for (const { kind, apiVersion, metadata } of (await kube.list(resource, { namespace })).items) {
      await kube.delete({ kind, apiVersion, name: metadata.name, namespace });
      const left = await kube.get(resource, metadata.name, namespace);
      if (left) await removeFinalizer(kube, left, workloadFinalizer).catch(() => undefined);
    }
  }
}

t.test(
  'exactly one of fifty concurrent claims of a name by five processes succeeds',
  { skip: noCluster },
  async (t) => {
    const { kube, namespace } = await testCluster(t);
    t.teardown(() => release(kube, namespace));
    for (const name of ['first', 'second', 'third']) {
      const racers = await Promise.all(Array.from({ length: processes }, () => startRacer(namespace, name)));
      const results = (await Promise.all(racers.map((each) => each.go()))).flat();
      t.equal(results.length, processes * racersEach);
      const won = results.filter((result) => result.startsWith('won '));
      t.equal(won.length, 1, results.join(' '));
      t.same(
        [...new Set(results)].filter((result) => !['name_taken', 'not_ready', won[0]].includes(result)),
        [],
        'every other racer gets the reason',
      );
      const held = await kube.get<WorkloadName>(kinds.WorkloadName, name, namespace);
      const winner = await kube.get(workloadResources[held?.spec.kind ?? 'App'], name, namespace);
      t.equal(`won ${held?.spec.kind}`, won[0], 'the name is the winner’s');
      t.equal(held?.metadata.ownerReferences?.[0]?.uid, winner?.metadata.uid);
      t.equal(winner?.metadata.deletionTimestamp, undefined);
    }
  },
);
