import { appSpec } from '../../runtime/contracts/resources/app.ts';
import { codeMaxBytes, functionSpec } from '../../runtime/contracts/resources/function.ts';
import { jobSpec } from '../../runtime/contracts/resources/job.ts';
import { kinds } from '../../runtime/contracts/resources/kinds.ts';
import { dnsNameMax, workloadNameMax } from '../../runtime/domain/names.ts';
import { customResource } from './definition.ts';
import { refineGitSource } from './git-source.ts';
import { appStatus, functionStatus, jobStatus } from './status.ts';
import { schemaAt, type StructuralSchema, type Validation } from './structural-schema.ts';

/** The rule of `checkWorkloadName`, for objects that are not created through the management API. */
export const workloadName: Validation = {
  rule: `self.metadata.name.size() <= ${workloadNameMax} && self.metadata.name.matches('^[a-z]([a-z0-9-]*[a-z0-9])?$') && !self.metadata.name.contains('--')`,
  message: `a name has at most ${workloadNameMax} characters: lower-case letters, digits and single hyphens, starting with a letter`,
};

/** The end of a requested run's name. Names of scheduled runs end differently. */
const runIdPattern = '^[0-9a-f]{10}$';

function keyedRunRequests(schema: StructuralSchema): void {
  schemaAt(schema, 'spec.runRequests[].id').pattern = runIdPattern;
  schemaAt(schema, 'spec.runRequests')['x-kubernetes-list-type'] = 'map';
  schemaAt(schema, 'spec.runRequests')['x-kubernetes-list-map-keys'] = ['id'];
}

function keyedBindings(schema: StructuralSchema): void {
  schemaAt(schema, 'spec.bindings')['x-kubernetes-list-type'] = 'map';
  schemaAt(schema, 'spec.bindings')['x-kubernetes-list-map-keys'] = ['service'];
}

/** `kubectl get sapp` */
export const appDefinition = customResource({
  kind: kinds.App,
  description: 'A long-running web process from a container image, with a public host.',
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
    keyedBindings(schema);
    keyedRunRequests(schema);
    schemaAt(schema, 'spec.runStops[]').pattern = runIdPattern;
    // A worker that is late must not restore an older release.
    schemaAt(schema, 'spec')['x-kubernetes-validations'] = [
      {
        rule: '!has(oldSelf.release) || (has(self.release) && self.release.generation >= oldSelf.release.generation)',
        message: 'release.generation cannot decrease',
      },
      {
        rule: '!has(oldSelf.release) || !has(self.release) || self.release.generation != oldSelf.release.generation || self.release.deploymentId == oldSelf.release.deploymentId',
        message: 'release.deploymentId cannot change without release.generation',
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
  description: 'Code or an image that runs on an HTTP request, on a schedule or for an event, and scales to zero.',
  shortNames: ['sfn'],
  spec: functionSpec,
  status: functionStatus,
  validations: [workloadName],
  refine: (schema) => {
    schemaAt(schema, 'spec.code').maxLength = codeMaxBytes;
    schemaAt(schema, 'spec.image').maxLength = 512;
    schemaAt(schema, 'spec.hostname').maxLength = dnsNameMax;
    schemaAt(schema, 'spec.schedule').maxLength = 200;
    keyedBindings(schema);
    keyedRunRequests(schema);
    schemaAt(schema, 'spec')['x-kubernetes-validations'] = [
      {
        rule: "has(self.schedule) == (self.trigger == 'cron')",
        message: 'schedule is required for the trigger cron, and not allowed for others',
      },
      { rule: "self.trigger in ['http', 'cron'] || has(self.events)", message: 'events is required for this trigger' },
      {
        rule: "!has(self.events) || self.trigger == 'http' || self.trigger == self.events.type",
        message: 'events.type must match the trigger, unless the trigger is http',
      },
      {
        rule: 'has(self.image) != has(self.code) && has(self.code) == has(self.runtime)',
        message: 'a function needs either image, or code and runtime',
      },
      {
        rule: '!has(self.minReplicas) || !has(self.maxReplicas) || self.minReplicas <= self.maxReplicas',
        message: 'minReplicas cannot be greater than maxReplicas',
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
  description: 'A container that runs to completion, on demand or on a schedule.',
  shortNames: ['sjob'],
  spec: jobSpec,
  status: jobStatus,
  validations: [workloadName],
  refine: (schema) => {
    schemaAt(schema, 'spec.image').maxLength = 512;
    schemaAt(schema, 'spec.schedule').maxLength = 200;
    schemaAt(schema, 'spec.env')['x-kubernetes-list-type'] = 'map';
    schemaAt(schema, 'spec.env')['x-kubernetes-list-map-keys'] = ['name'];
    keyedBindings(schema);
    keyedRunRequests(schema);
  },
  columns: [
    { name: 'Status', type: 'string', jsonPath: '.status.phase' },
    { name: 'Schedule', type: 'string', jsonPath: '.spec.schedule' },
    { name: 'Active', type: 'integer', jsonPath: '.status.active' },
    { name: 'Image', type: 'string', jsonPath: '.spec.image', priority: 1 },
  ],
});
