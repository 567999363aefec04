import { appSpec } from '../../runtime/contracts/resources/app.ts';
import { codeMaxBytes, functionSpec } from '../../runtime/contracts/resources/function.ts';
import { jobSpec } from '../../runtime/contracts/resources/job.ts';
import { kinds } from '../../runtime/contracts/resources/kinds.ts';
import { dnsNameMax, workloadNameMax } from '../../runtime/domain/names.ts';
import { customResource } from './definition.ts';
import { refineGitSource } from './git-source.ts';
import { appStatus, functionStatus, jobStatus } from './status.ts';
import { schemaAt, type StructuralSchema, type Validation } from './structural-schema.ts';

/** The rule of `checkWorkloadName`, for objects that do not come through the management API. */
export const workloadName: Validation = {
  rule: `self.metadata.name.size() <= ${workloadNameMax} && self.metadata.name.matches('^[a-z]([a-z0-9-]*[a-z0-9])?$') && !self.metadata.name.contains('--')`,
  message: `a name has at most ${workloadNameMax} characters: lower-case letters, digits and single hyphens, starting with a letter`,
};

function keyedRunRequests(schema: StructuralSchema): void {
  // The end of the run's name, which no run of a schedule can have.
  schemaAt(schema, 'spec.runRequests[].id').pattern = '^[0-9a-f]{10}$';
  schemaAt(schema, 'spec.runRequests')['x-kubernetes-list-type'] = 'map';
  schemaAt(schema, 'spec.runRequests')['x-kubernetes-list-map-keys'] = ['id'];
}

/** `kubectl get sapp` */
export const appDefinition = customResource({
  kind: kinds.App,
  description: 'A container image that serves at a public host.',
  shortNames: ['sapp'],
  spec: appSpec,
  status: appStatus,
  validations: [workloadName],
  refine: (schema) => {
    schemaAt(schema, 'spec.image').maxLength = 512;
    schemaAt(schema, 'spec.hostname').maxLength = dnsNameMax;
    refineGitSource(schemaAt(schema, 'spec.git'));
    schemaAt(schema, 'spec.env')['x-kubernetes-list-type'] = 'map';
    schemaAt(schema, 'spec.env')['x-kubernetes-list-map-keys'] = ['name'];
    // The fence of every rollout: a late worker must never bring an older release back (design: fencing).
    schemaAt(schema, 'spec')['x-kubernetes-validations'] = [
      {
        rule: '!has(oldSelf.release) || (has(self.release) && self.release.generation >= oldSelf.release.generation)',
        message: 'release.generation never decreases',
      },
      {
        rule: '!has(oldSelf.release) || !has(self.release) || self.release.generation != oldSelf.release.generation || self.release.deploymentId == oldSelf.release.deploymentId',
        message: 'a release.generation belongs to one deployment',
      },
    ];
  },
  columns: [
    { name: 'Status', type: 'string', jsonPath: '.status.phase' },
    { name: 'Ready', type: 'integer', jsonPath: '.status.readyReplicas' },
    { name: 'Revision', type: 'integer', jsonPath: '.spec.release.generation' },
    { name: 'Image', type: 'string', jsonPath: '.spec.release.image' },
    { name: 'Gate', type: 'string', jsonPath: '.status.gate' },
    { name: 'URL', type: 'string', jsonPath: '.status.url', priority: 1 },
  ],
});

/** `kubectl get sfn` */
export const functionDefinition = customResource({
  kind: kinds.Function,
  description: 'Code, or an image, that runs on requests, on a schedule or for events, and costs nothing between them.',
  shortNames: ['sfn'],
  spec: functionSpec,
  status: functionStatus,
  validations: [workloadName],
  refine: (schema) => {
    schemaAt(schema, 'spec.code').maxLength = codeMaxBytes;
    schemaAt(schema, 'spec.image').maxLength = 512;
    schemaAt(schema, 'spec.hostname').maxLength = dnsNameMax;
    schemaAt(schema, 'spec.schedule').maxLength = 200;
    schemaAt(schema, 'spec.bindings')['x-kubernetes-list-type'] = 'map';
    schemaAt(schema, 'spec.bindings')['x-kubernetes-list-map-keys'] = ['service'];
    keyedRunRequests(schema);
    schemaAt(schema, 'spec')['x-kubernetes-validations'] = [
      {
        rule: "has(self.schedule) == (self.trigger == 'cron')",
        message: 'the trigger cron needs a schedule, and no other has one',
      },
      {
        rule: "self.trigger in ['http', 'cron'] || has(self.events)",
        message: 'a trigger that is a data source needs events',
      },
      {
        rule: "!has(self.events) || self.trigger == 'http' || self.trigger == self.events.type",
        message: 'events are those of the trigger, or beside the trigger http',
      },
      {
        rule: 'has(self.image) != has(self.code) && has(self.code) == has(self.runtime)',
        message: 'a function is an image, or code and its runtime',
      },
      {
        rule: '!has(self.minReplicas) || !has(self.maxReplicas) || self.minReplicas <= self.maxReplicas',
        message: 'minReplicas is not above maxReplicas',
      },
    ];
  },
  columns: [
    { name: 'Status', type: 'string', jsonPath: '.status.phase' },
    { name: 'Runtime', type: 'string', jsonPath: '.spec.runtime' },
    { name: 'Trigger', type: 'string', jsonPath: '.spec.trigger' },
    { name: 'Ready', type: 'integer', jsonPath: '.status.readyReplicas' },
    { name: 'Schedule', type: 'string', jsonPath: '.spec.schedule' },
    { name: 'Gate', type: 'string', jsonPath: '.status.gate' },
    { name: 'URL', type: 'string', jsonPath: '.status.url', priority: 1 },
  ],
});

/** `kubectl get sjob` */
export const jobDefinition = customResource({
  kind: kinds.Job,
  description: 'A program that runs to its end, when asked to or on a schedule.',
  shortNames: ['sjob'],
  spec: jobSpec,
  status: jobStatus,
  validations: [workloadName],
  refine: (schema) => {
    schemaAt(schema, 'spec.image').maxLength = 512;
    schemaAt(schema, 'spec.schedule').maxLength = 200;
    schemaAt(schema, 'spec.env')['x-kubernetes-list-type'] = 'map';
    schemaAt(schema, 'spec.env')['x-kubernetes-list-map-keys'] = ['name'];
    keyedRunRequests(schema);
  },
  columns: [
    { name: 'Status', type: 'string', jsonPath: '.status.phase' },
    { name: 'Schedule', type: 'string', jsonPath: '.spec.schedule' },
    { name: 'Active', type: 'integer', jsonPath: '.status.active' },
    { name: 'Image', type: 'string', jsonPath: '.spec.image', priority: 1 },
  ],
});
