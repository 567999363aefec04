import { buildSpec } from '../../runtime/contracts/resources/build.ts';
import { kinds } from '../../runtime/contracts/resources/kinds.ts';
import { dnsLabelMax, workloadNameMax } from '../../runtime/domain/names.ts';
import { customResource } from './definition.ts';
import { refineGitSource } from './git-source.ts';
import { buildStatus } from './status.ts';
import { schemaAt } from './structural-schema.ts';

/** `kubectl get sbuild` */
export const buildDefinition = customResource({
  kind: kinds.Build,
  description: 'Builds an image of an app from a git source or an uploaded folder.',
  shortNames: ['sbuild'],
  spec: buildSpec,
  status: buildStatus,
  validations: [
    {
      // Its batch Job has the same name, which Kubernetes also uses as a label value.
      rule: `self.metadata.name.size() <= ${dnsLabelMax} && self.metadata.name.matches('^[a-z]([a-z0-9-]*[a-z0-9])?$')`,
      message: `a build's name has at most ${dnsLabelMax} characters: lower-case letters, digits and hyphens, starting with a letter`,
    },
  ],
  refine: (schema) => {
    schemaAt(schema, 'spec.app').maxLength = workloadNameMax;
    schemaAt(schema, 'spec.namespace').maxLength = dnsLabelMax;
    refineGitSource(schemaAt(schema, 'spec.source'));
    schemaAt(schema, 'spec.source')['x-kubernetes-validations'] = [
      {
        rule: 'has(self.url) != (has(self.upload) && self.upload)',
        message: 'a source needs either a url or an upload',
      },
    ];
    schemaAt(schema, 'spec')['x-kubernetes-validations'] = [
      { rule: 'self == oldSelf', message: 'a build cannot be changed; create another one' },
    ];
  },
  columns: [
    { name: 'Status', type: 'string', jsonPath: '.status.phase' },
    { name: 'App', type: 'string', jsonPath: '.spec.app' },
    { name: 'Commit', type: 'string', jsonPath: '.spec.source.commit' },
    { name: 'Source', type: 'string', jsonPath: '.spec.source.url', priority: 1 },
  ],
});
