import { createHash } from 'node:crypto';
import { kinds } from '../../../runtime/contracts/resources/kinds.ts';
import { refOf } from '../../../runtime/kube/children.ts';
import type { ControllerDefinition } from '../../../runtime/kube/controller.ts';
import type { KubeClient } from '../../../runtime/kube/kube-client.ts';
import type { Service } from './objects.ts';

/**
 * The number of addresses from 127.64.0.1 to 127.127.255.254, which Linux serves without set-up
 * (docs/decisions/0009-pods-as-processes.md).
 */
const size = 2 ** 22 - 2;

/** The n-th candidate address of a Service. */
function candidate(seed: string, name: string, n: number): string {
  const digest = createHash('sha256').update(`${seed}/${name}`).digest();
  const index = 1 + ((digest.readUInt32BE(0) + n) % size);
  return `127.${64 + (index >> 16)}.${(index >> 8) & 255}.${index & 255}`;
}

/**
 * Assigns an address to every Service that is not headless. A Service of the same name in the same namespace gets the
 * same address again; other installations on this machine get others. One worker, so that no address is assigned twice.
 */
export function serviceAddressController(kube: KubeClient): ControllerDefinition<Service> {
  return {
    name: 'service-address',
    kind: kinds.Service,
    workers: 1,
    async reconcile({ object }) {
      if (!object || (object.spec.clusterIP ?? '') !== '') return;
      const { items } = await kube.list<Service>(kinds.Service);
      const usedAddresses = new Set(items.map(({ spec }) => spec.clusterIP));
      const { name, namespace = '', resourceVersion } = object.metadata;
      const seed = (await kube.get(kinds.Namespace, namespace))?.metadata.uid ?? namespace;
      let n = 0;
      while (usedAddresses.has(candidate(seed, name, n)) && n < size) n++;
      const clusterIP = candidate(seed, name, n);
      await kube.mergePatch(refOf(object), { metadata: { resourceVersion }, spec: { clusterIP } });
    },
  };
}
