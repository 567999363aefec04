import { kinds } from '../../runtime/contracts/resources/kinds.ts';
import {
  acceptedCondition,
  platformConfigName,
  platformConfigSpec,
} from '../../runtime/contracts/resources/platform-config.ts';
import { dnsLabelMax, dnsNameMax } from '../../runtime/domain/names.ts';
import { customResource } from './definition.ts';
import { platformConfigStatus } from './status.ts';
import { schemaAt } from './structural-schema.ts';

/** The installation's settings. */
export const platformConfigDefinition = customResource({
  kind: kinds.PlatformConfig,
  description: 'The settings of the installation. There is exactly one, named "platform".',
  spec: platformConfigSpec,
  status: platformConfigStatus,
  validations: [
    {
      rule: `self.metadata.name == '${platformConfigName}'`,
      message: `the only PlatformConfig is named "${platformConfigName}"`,
    },
  ],
  refine: (schema) => {
    const label = '[a-z0-9]([a-z0-9-]*[a-z0-9])?';
    Object.assign(schemaAt(schema, 'spec.appsDomain'), { maxLength: dnsNameMax, pattern: `^${label}(\\.${label})*$` });
    Object.assign(schemaAt(schema, 'spec.cluster'), { maxLength: dnsLabelMax, pattern: `^${label}$` });
  },
  columns: [
    { name: 'Domain', type: 'string', jsonPath: '.spec.appsDomain' },
    { name: 'Cluster', type: 'string', jsonPath: '.spec.cluster' },
    { name: 'Profile', type: 'string', jsonPath: '.spec.profile' },
    { name: 'Accepted', type: 'string', jsonPath: `.status.conditions[?(@.type=="${acceptedCondition}")].status` },
  ],
});
