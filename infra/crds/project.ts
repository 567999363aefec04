import { kinds } from '../../runtime/contracts/resources/kinds.ts';
import { projectSpec } from '../../runtime/contracts/resources/project.ts';
import { customResource } from './definition.ts';
import { projectStatus } from './status.ts';
import { schemaAt } from './structural-schema.ts';

/** `kubectl get sproj` */
export const projectDefinition = customResource({
  kind: kinds.Project,
  description: 'A group of environments. Each environment is one namespace.',
  shortNames: ['sproj'],
  spec: projectSpec,
  status: projectStatus,
  // The rules of `checkProjectName` and `namespaceOf`, for objects that do not come through the management API.
  validations: [
    {
      rule: "self.metadata.name.size() <= 30 && self.metadata.name.matches('^[a-z]([a-z0-9-]*[a-z0-9])?$') && !self.metadata.name.contains('--')",
      message:
        'a project name has at most 30 characters: lower-case letters, digits and single hyphens, starting with a letter',
    },
    {
      rule: "!self.metadata.name.matches('^(kube|svc|openshift)(-|$)')",
      message: 'the namespaces kube-*, svc-* and openshift-* are reserved; choose another project name',
    },
  ],
  refine: (schema) => {
    const name = schemaAt(schema, 'spec.environments[].name');
    name.maxLength = 20;
    name.pattern = '^[a-z][a-z0-9]*$';
    schemaAt(schema, 'spec.environments[].id').maxLength = 36;
    for (const field of ['cpu', 'memory', 'storage', 'containerMemory']) {
      schemaAt(schema, `spec.environments[].limits.${field}`).pattern = '^[0-9]+(\\.[0-9]+)?(m|[kMGTP]|[KMGTP]i)?$';
    }
    const environments = schemaAt(schema, 'spec.environments');
    environments['x-kubernetes-list-type'] = 'map';
    environments['x-kubernetes-list-map-keys'] = ['name'];
    // Keys and plans refer to the id and would be orphaned by a change.
    environments['x-kubernetes-validations'] = [
      {
        rule: 'oldSelf.all(before, self.all(after, after.name != before.name || after.id == before.id))',
        message: "an environment's id cannot be changed",
      },
      {
        rule: 'oldSelf.all(before, (has(before.deleting) && before.deleting) || self.exists(after, after.name == before.name))',
        message: 'to delete an environment, set `deleting: true`; its entry is removed once it is empty',
      },
      {
        rule: 'oldSelf.all(before, !(has(before.deleting) && before.deleting) || self.all(after, after.name != before.name || (has(after.deleting) && after.deleting)))',
        message: 'the deletion of an environment cannot be cancelled',
      },
    ];
  },
  columns: [{ name: 'Status', type: 'string', jsonPath: '.status.phase' }],
});
