import { createHash } from 'node:crypto';
import { kinds } from '../../../runtime/contracts/resources/kinds.ts';
import { refOf } from '../../../runtime/kube/children.ts';
import type { ControllerDefinition } from '../../../runtime/kube/controller.ts';
import type { KubeClient } from '../../../runtime/kube/kube-client.ts';
import type { Service } from './objects.ts';

/** The addresses 127.64.0.1 to 127.127.255.254, which Linux answers for without set-up (decision 0009). */
const size = 2 ** 22 - 2;

/** The n-th address after where a Service of a namespace has its place. */
function candidate(home: string, name: string, n: number): string {
  const digest = createHash('sha256').update(`${home}/${name}`).digest();
  const index = 1 + ((digest.readUInt32BE(0) + n) % size);
  return `127.${64 + (index >> 16)}.${(index >> 8) & 255}.${index & 255}`;
}

/**
 * Gives every Service that is not headless an address of its own: the same to one of the same name in the same namespace,
 * and another to those of other installations on this machine. One at a time, so that no two get the same.
 */
export function serviceAddressController(kube: KubeClient): ControllerDefinition<Service> {
  return {
    name: 'service-address',
    kind: kinds.Service,
    workers: 1,
    async reconcile({ object }) {
      if (!object || (object.spec.clusterIP ?? '') !== '') return;
      const { items } = await kube.list<Service>(kinds.Service);
      const taken = new Set(items.map(({ spec }) => spec.clusterIP));
      const { name, namespace = '', resourceVersion } = object.metadata;
      const home = (await kube.get(kinds.Namespace, namespace))?.metadata.uid ?? namespace;
      let n = 0;
      while (taken.has(candidate(home, name, n)) && n < size) n++;
      const clusterIP = candidate(home, name, n);
      await kube.mergePatch(refOf(object), { metadata: { resourceVersion }, spec: { clusterIP } });
    },
  };
}
