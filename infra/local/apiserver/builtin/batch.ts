import { isDeepStrictEqual } from 'node:util';
import type { Cause } from '../api-error.ts';
import { isJson, valueAt, type Json, textIn } from '../json.ts';
import type { ApiObject } from '../resource.ts';
import { columnsOf } from './columns.ts';
import { define } from './define.ts';
import { checkPodSpec, required } from './pod-checks.ts';
import { defaultTemplate, fill, section } from './pod-defaults.ts';

const jobPolicies = ['OnFailure', 'Never'];

function defaultJobSpec(spec: Json): void {
  if (spec['completions'] === undefined && spec['parallelism'] === undefined) fill(spec, { completions: 1 });
  fill(spec, {
    parallelism: 1,
    backoffLimit: 6,
    completionMode: 'NonIndexed',
    suspend: false,
    podReplacementPolicy: 'TerminatingOrFailed',
    manualSelector: false,
  });
  defaultTemplate(spec);
}

function defaultJob(object: ApiObject): void {
  const spec = section(object, 'spec');
  defaultJobSpec(spec);
  const labels = valueAt(spec, 'template.metadata.labels');
  if (isJson(labels) && Object.keys(object.metadata.labels ?? {}).length === 0) {
    // The very same map, so that it gets what the template's gets: thus the real server does it.
    object.metadata.labels = labels as Record<string, string>;
  }
  section(object, 'status');
}

/** A Job selects its pods by its own uid, so that no two Jobs ever share one. */
function selectOwnPods(object: ApiObject): void {
  const spec = section(object, 'spec');
  if (spec['manualSelector'] === true) return;
  const { uid, name } = object.metadata;
  const template = section(section(spec, 'template'), 'metadata');
  Object.assign(section(template, 'labels'), {
    'batch.kubernetes.io/controller-uid': uid,
    'batch.kubernetes.io/job-name': name,
    'controller-uid': uid,
    'job-name': name,
  });
  spec['selector'] = { matchLabels: { 'batch.kubernetes.io/controller-uid': uid } };
}

/** Its pods stay as they are; one that was never begun may still be labelled. */
function checkJob(object: ApiObject, old: ApiObject | undefined): Cause[] {
  const causes = checkPodSpec(valueAt(object, 'spec.template.spec'), 'spec.template.spec', jobPolicies);
  if (!old) return causes;
  const idle = valueAt(old, 'spec.suspend') === true && valueAt(old, 'status.startTime') === undefined;
  const path = idle ? 'spec.template.spec' : 'spec.template';
  if (!isDeepStrictEqual(valueAt(object, path), valueAt(old, path))) {
    const message = `Invalid value: ${JSON.stringify(valueAt(object, path))}: field is immutable`;
    causes.push({ reason: 'FieldValueInvalid', message, field: 'spec.template' });
  }
  return causes;
}

function defaultCronJob(object: ApiObject): void {
  const spec = section(object, 'spec');
  fill(spec, {
    concurrencyPolicy: 'Allow',
    suspend: false,
    successfulJobsHistoryLimit: 3,
    failedJobsHistoryLimit: 1,
  });
  const template = section(spec, 'jobTemplate');
  section(template, 'metadata');
  // What concerns one run only is left to the Job itself.
  defaultTemplate(section(template, 'spec'));
  section(object, 'status');
}

/** The group `batch`. */
export const batch = [
  define('batch/v1', 'Job', 'jobs', {
    all: true,
    generation: true,
    status: true,
    strategy: {
      default: defaultJob,
      prepareCreate: selectOwnPods,
      immutable: ['spec.selector', 'spec.completions', 'spec.completionMode'],
      validate: checkJob,
      fields: (object) => ({ 'status.successful': textIn(valueAt(object, 'status.succeeded') ?? 0) }),
    },
    columns: columnsOf('Job'),
  }),
  define('batch/v1', 'CronJob', 'cronjobs', {
    shortNames: ['cj'],
    all: true,
    generation: true,
    status: true,
    strategy: {
      default: defaultCronJob,
      validate: (object) => [
        ...(valueAt(object, 'spec.schedule') ? [] : [required('spec.schedule')]),
        ...checkPodSpec(
          valueAt(object, 'spec.jobTemplate.spec.template.spec'),
          'spec.jobTemplate.spec.template.spec',
          jobPolicies,
        ),
      ],
    },
    columns: columnsOf('CronJob'),
  }),
];
