import { setTimeout as wait } from 'node:timers/promises';
import { attempt, run } from '../../infra/testcluster/command.ts';
import type { NetworkPolicy } from '../../infra/manifests/environment-network.ts';
import type { KubeObject } from '../../runtime/contracts/kubernetes.ts';
import type { Pod } from '../../runtime/contracts/pod.ts';
import { kinds } from '../../runtime/contracts/resources/kinds.ts';
import { systemClock } from '../../runtime/domain/clock.ts';
import { createInformer } from '../../runtime/kube/informer.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import { silentLog } from './log.ts';
import { chains, policyChain, policyRules, setPrefix } from './policy-rules.ts';

/** Enforces the policies of some namespaces of the test cluster while it runs. */
export interface PolicyEnforcer {
  /** Resolves when the rules contain the current pods and policies. */
  current(): Promise<void>;
  /** Removes the rules. */
  stop(): Promise<void>;
}

/** Packets between pods, to other networks, and to the node. Those that the node sends itself are never held back. */
const hooks = ['FORWARD', 'INPUT'];

/**
 * Enforces network policies on this machine, as a network plugin does: for the test cluster, whose bridge plugin does not.
 * Needs root.
 */
export async function enforcePolicies(kube: KubeClient, namespaces: readonly string[]): Promise<PolicyEnforcer> {
  const follow = <T extends KubeObject>(kind: (typeof kinds)[keyof typeof kinds]) =>
    createInformer<T>({ kube, kind, clock: systemClock, log: silentLog });
  const informers = {
    namespaces: follow<KubeObject>(kinds.Namespace),
    pods: follow<Pod & { spec: { hostNetwork?: boolean } }>(kinds.Pod),
    policies: follow<NetworkPolicy & KubeObject>(kinds.NetworkPolicy),
  };
  const apply = async () => {
    const { sets, rules } = policyRules({
      namespaces: new Map(informers.namespaces.list().map(({ metadata }) => [metadata.name, metadata.labels ?? {}])),
      pods: informers.pods.list().flatMap(({ metadata, spec, status }) => {
        const { namespace = '', labels = {} } = metadata;
        const address = status?.podIP;
        const ended = status?.phase === 'Succeeded' || status?.phase === 'Failed';
        return address === undefined || spec.hostNetwork || ended ? [] : [{ namespace, labels, address }];
      }),
      policies: informers.policies.list().filter(({ metadata }) => namespaces.includes(metadata.namespace ?? '')),
    });
    await run('ipset', ['restore'], { input: sets });
    await run('iptables-restore', ['--noflush', '--wait'], { input: rules });
  };
  let work: Promise<void> = Promise.resolve();
  let isWaiting = false;
  /** One after the other; what changes meanwhile is applied once. */
  const schedule = () => {
    if (isWaiting) return;
    isWaiting = true;
    work = work.then(() => {
      isWaiting = false;
      return apply();
    });
  };
  for (const informer of Object.values(informers)) informer.start();
  await Promise.all(Object.values(informers).map((informer) => informer.whenSynced()));
  for (const informer of Object.values(informers)) informer.onChange(schedule);
  await removePolicyRules();
  await apply();
  for (const hook of hooks) await run('iptables', ['--wait', '--insert', hook, '--jump', policyChain]);
  return {
    async current() {
      // The watch has delivered what was changed before.
      await wait(500);
      await work;
    },
    async stop() {
      await Promise.all(Object.values(informers).map((informer) => informer.stop()));
      await work;
      await removePolicyRules();
    },
  };
}

/** Also what an enforcer left behind that was killed. */
async function removePolicyRules(): Promise<void> {
  for (const hook of hooks) await attempt('iptables', ['--wait', '--delete', hook, '--jump', policyChain]);
  for (const action of ['--flush', '--delete-chain']) {
    for (const chain of chains) await attempt('iptables', ['--wait', action, chain]);
  }
  const { stdout } = await attempt('ipset', ['list', '-name']);
  for (const name of stdout.split('\n')) if (name.startsWith(setPrefix)) await attempt('ipset', ['destroy', name]);
}
