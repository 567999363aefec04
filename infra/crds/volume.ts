import { kinds } from '../../runtime/contracts/resources/kinds.ts';
import { volumeSpec } from '../../runtime/contracts/resources/volume.ts';
import { dnsNameMax } from '../../runtime/domain/names.ts';
import { customResource } from './definition.ts';
import { volumeStatus } from './status.ts';
import { schemaAt } from './structural-schema.ts';
import { workloadName } from './workloads.ts';

/** `kubectl get svol` */
export const volumeDefinition = customResource({
  kind: kinds.Volume,
  description: 'Storage that outlives the pods that mount it.',
  shortNames: ['svol'],
  spec: volumeSpec,
  status: volumeStatus,
  validations: [workloadName],
  refine: (schema) => {
    const size = schemaAt(schema, 'spec.size');
    size.maxLength = 22;
    size.pattern = '^[0-9]+(\\.[0-9]+)?([kMGTP]|[KMGTP]i)?$';
    schemaAt(schema, 'spec.storageClass').maxLength = dnsNameMax;
    // Kubernetes cannot change these fields of a claim, nor shrink it.
    schemaAt(schema, 'spec')['x-kubernetes-validations'] = [
      {
        rule: 'has(self.storageClass) == has(oldSelf.storageClass) && (!has(self.storageClass) || self.storageClass == oldSelf.storageClass)',
        message: 'storageClass cannot be changed; create another volume and copy the data',
      },
      { rule: 'self.accessMode == oldSelf.accessMode', message: 'accessMode cannot be changed' },
      {
        rule: 'quantity(self.size).compareTo(quantity(oldSelf.size)) >= 0',
        message: 'a volume cannot shrink; create a smaller one and copy the data',
      },
    ];
  },
  columns: [
    { name: 'Status', type: 'string', jsonPath: '.status.phase' },
    { name: 'Size', type: 'string', jsonPath: '.spec.size' },
    { name: 'Capacity', type: 'string', jsonPath: '.status.capacity' },
    { name: 'Class', type: 'string', jsonPath: '.status.storageClass' },
  ],
});
