import { createHash } from 'node:crypto';
import { kinds } from '../../../runtime/contracts/resources/kinds.ts';
import { refOf } from '../../../runtime/kube/children.ts';
import type { ControllerDefinition } from '../../../runtime/kube/controller.ts';
import type { KubeClient } from '../../../runtime/kube/kube-client.ts';
import type { Service } from './objects.ts';

/** Addresses 127.96.0.1 to 127.96.255.254, which Linux answers for without set-up (decision 0009). */
const size = 65_534;

/** The n-th address after where a Service's place is; the same for the same name, so that it survives the Service. */
function candidate({ namespace = '', name }: Service['metadata'], n: number): string {
  const digest = createHash('sha256').update(`${namespace}/${name}`).digest();
  const index = 1 + ((digest.readUInt32BE(0) + n) % size);
  return `127.96.${index >> 8}.${index & 255}`;
}

/** Gives every Service that is not headless an address of its own. One at a time, so that no two get the same. */
export function serviceAddressController(kube: KubeClient): ControllerDefinition<Service> {
  return {
    name: 'service-address',
    kind: kinds.Service,
    workers: 1,
    async reconcile({ object }) {
      if (!object || (object.spec.clusterIP ?? '') !== '') return;
      const { items } = await kube.list<Service>(kinds.Service);
      const taken = new Set(items.map(({ spec }) => spec.clusterIP));
      let n = 0;
      while (taken.has(candidate(object.metadata, n)) && n < size) n++;
      const clusterIP = candidate(object.metadata, n);
      const { resourceVersion } = object.metadata;
      await kube.mergePatch(refOf(object), { metadata: { resourceVersion }, spec: { clusterIP } });
    },
  };
}
