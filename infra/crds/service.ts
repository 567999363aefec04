import { kinds } from '../../runtime/contracts/resources/kinds.ts';
import { serviceSpec } from '../../runtime/contracts/resources/service.ts';
import { dnsNameMax } from '../../runtime/domain/names.ts';
import { customResource } from './definition.ts';
import { serviceStatus } from './status.ts';
import { schemaAt } from './structural-schema.ts';
import { workloadName } from './workloads.ts';

/** `kubectl get ssvc`; `kubectl get services` lists the Services of Kubernetes. */
export const serviceDefinition = customResource({
  kind: kinds.ServiceResource,
  description: 'A database, cache or object store that workloads can be bound to.',
  shortNames: ['ssvc'],
  spec: serviceSpec,
  status: serviceStatus,
  validations: [workloadName],
  refine: (schema) => {
    schemaAt(schema, 'spec.external.host').maxLength = dnsNameMax;
    schemaAt(schema, 'spec')['x-kubernetes-validations'] = [
      { rule: 'self.type == oldSelf.type', message: 'type cannot be changed; create another service' },
      {
        rule: 'has(self.external) == has(oldSelf.external)',
        message: 'a managed service cannot become an external one, nor an external service a managed one',
      },
      { rule: '!has(self.external) || !has(self.storage)', message: 'an external service cannot have storage' },
      {
        rule: 'has(self.storage) == has(oldSelf.storage) && (!has(self.storage) || self.storage == oldSelf.storage)',
        message: 'storage cannot be changed; create another service and copy the data',
      },
    ];
  },
  columns: [
    { name: 'Status', type: 'string', jsonPath: '.status.phase' },
    { name: 'Type', type: 'string', jsonPath: '.spec.type' },
    { name: 'Host', type: 'string', jsonPath: '.status.host' },
    { name: 'Message', type: 'string', jsonPath: '.status.message', priority: 1 },
  ],
});
