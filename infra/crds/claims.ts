import { hostNameSpec, workloadNameSpec } from '../../runtime/contracts/resources/claims.ts';
import { kinds } from '../../runtime/contracts/resources/kinds.ts';
import { dnsLabelMax } from '../../runtime/domain/names.ts';
import { customResource } from './definition.ts';
import { schemaAt, type StructuralSchema } from './structural-schema.ts';

/** A claim cannot be transferred: its holder has to delete it first. */
function immutableSpec(schema: StructuralSchema): void {
  const spec = schemaAt(schema, 'spec');
  spec['x-kubernetes-validations'] = [
    { rule: 'self == oldSelf', message: 'a claim cannot be changed; delete it and create another one' },
  ];
  // The API server needs maximum lengths to estimate the cost of the rule.
  schemaAt(schema, 'spec.workloadId').maxLength = 36;
  for (const field of ['namespace', 'name']) {
    const property = spec.properties?.[field];
    if (property) property.maxLength = dnsLabelMax;
  }
}

/** The reservation of a workload's name in its environment. */
export const workloadNameDefinition = customResource({
  kind: kinds.WorkloadName,
  description: "Reserves a workload's name among the apps, functions, jobs and services of its environment.",
  spec: workloadNameSpec,
  refine: immutableSpec,
  columns: [{ name: 'Kind', type: 'string', jsonPath: '.spec.kind' }],
});

/** The claim of a public host by one workload. */
export const hostNameDefinition = customResource({
  kind: kinds.HostName,
  description: 'Claims a public host for one workload of the cluster.',
  spec: hostNameSpec,
  refine: immutableSpec,
  columns: [
    { name: 'Kind', type: 'string', jsonPath: '.spec.kind' },
    { name: 'Namespace', type: 'string', jsonPath: '.spec.namespace' },
    { name: 'Workload', type: 'string', jsonPath: '.spec.name' },
  ],
});
