import type { JobView } from '../../../../runtime/contracts/api/jobs.ts';
import { readLines } from '../workloads/env-text.ts';
import { commandLine, commandWords } from '../workloads/command-lines.ts';
import { filledLines } from '../parts/lines.ts';
import { mountLines, mountsOf } from '../workloads/mounts.ts';

/** The fields of the form of a job, in its order. */
export const jobFields = [
  'name',
  'image',
  'command',
  'schedule',
  'timeZone',
  'overlap',
  'retries',
  'timeoutSeconds',
  'historyLimit',
  'memory',
  'cpu',
  'volumes',
  'bindings',
  'variables',
] as const;

export type JobField = (typeof jobFields)[number];

/** What the form of a job has, as texts. Without a schedule, the job runs on demand. The API checks them. */
export type JobDraft = Readonly<Record<JobField, string>>;

/** A new job: an empty text is the default of the API. */
export const newJob: JobDraft = Object.fromEntries(jobFields.map((field) => [field, ''])) as JobDraft;

/** The settings of a job that exists. */
export function jobDraftOf(view: JobView): JobDraft {
  return {
    ...newJob,
    name: view.name,
    image: view.image,
    command: (view.command ?? []).join('\n'),
    schedule: view.schedule ?? '',
    timeZone: view.timeZone,
    overlap: view.overlap,
    retries: String(view.retries),
    historyLimit: String(view.historyLimit),
    timeoutSeconds: view.timeoutSeconds === undefined ? '' : String(view.timeoutSeconds),
    memory: view.memory ?? '',
    cpu: view.cpu ?? '',
    volumes: mountLines(view.volumes),
  };
}

const scheduleFields: readonly JobField[] = ['schedule', 'timeZone', 'overlap'];
const numbers: readonly JobField[] = ['retries', 'timeoutSeconds', 'historyLimit'];
/** What is not a field of the API by this name. */
const special: readonly JobField[] = ['name', 'bindings', 'variables'];

function valueOf(field: JobField, text: string): unknown {
  if (field === 'volumes') return mountsOf(text);
  if (field === 'command') return commandWords(text);
  return numbers.includes(field) ? Number(text) : text.trim();
}

const servicesOf = ({ bindings }: JobDraft) => bindings.split(/[\s,]+/).filter((word) => word !== '');

/** Whether a field has no value. A schedule of spaces is one that is not valid, and not a job without one. */
const isEmpty = (draft: JobDraft, field: JobField) =>
  field === 'schedule' ? draft.schedule === '' : draft[field].trim() === '';

/** Whether the job can have the field: those of the schedule belong to jobs that have one. */
const hasField = (draft: JobDraft, field: JobField) =>
  !special.includes(field) && (field === 'schedule' || !isEmpty(draft, 'schedule') || !scheduleFields.includes(field));

const filledFields = (draft: JobDraft) => jobFields.filter((field) => hasField(draft, field) && !isEmpty(draft, field));

/** The body of the request that creates the job; empty texts are left out. */
export function createBody(draft: JobDraft): Record<string, unknown> {
  const { variables } = readLines(draft.variables);
  const services = servicesOf(draft);
  return {
    name: draft.name.trim(),
    ...Object.fromEntries(filledFields(draft).map((field) => [field, valueOf(field, draft[field])])),
    ...(services.length > 0 && { bindings: services.map((service) => ({ service })) }),
    ...(Object.keys(variables).length > 0 && { env: variables }),
  };
}

const flags: Readonly<Partial<Record<JobField, string>>> = {
  image: '--image',
  schedule: '--schedule',
  timeZone: '--time-zone',
  overlap: '--overlap',
  retries: '--retries',
  historyLimit: '--history',
  memory: '--memory',
  cpu: '--cpu',
};

function flagsOf(field: JobField, text: string): string[] {
  if (field === 'volumes') return filledLines(text).flatMap((line) => ['--volume', line]);
  if (field === 'timeoutSeconds') return ['--run-timeout', `${text.trim()}s`];
  if (field === 'command') return ['--command', commandLine(commandWords(text))];
  return flags[field] === undefined ? [] : [flags[field], text.trim()];
}

/** The words of the command that creates the same job. It names a file of variables, which can have secrets among them. */
export function createWords(draft: JobDraft): string[] {
  const others = filledFields(draft).filter((field) => field !== 'image');
  return [
    ...['job', 'create', draft.name.trim() || 'report'],
    ...['--image', draft.image.trim() || 'registry.example.com/shop/report:1'],
    ...others.flatMap((field) => flagsOf(field, draft[field])),
    ...servicesOf(draft).flatMap((service) => ['--bind', service]),
    ...(draft.variables.trim() === '' ? [] : ['--env-file', '.env']),
  ];
}

/** The fields that differ. Without a schedule, its other fields do not matter. */
export function changedFields(before: JobDraft, after: JobDraft): JobField[] {
  return jobFields.filter((field) => hasField(after, field) && before[field].trim() !== after[field].trim());
}

/** The fields that null removes. */
const removable: readonly JobField[] = ['command', 'schedule', 'timeoutSeconds', 'memory', 'cpu', 'volumes'];

/** The body of the request that changes what differs and nothing else, so that what others change meanwhile stays. */
export function changeBody(before: JobDraft, after: JobDraft): Record<string, unknown> {
  const entry = (field: JobField) =>
    [field, isEmpty(after, field) && removable.includes(field) ? null : valueOf(field, after[field])] as const;
  return Object.fromEntries(changedFields(before, after).map(entry));
}

/** What `svc job update` has to remove a field; it has nothing for the others. */
const removals: Readonly<Partial<Record<JobField, string>>> = { schedule: '--manual', volumes: '--no-volumes' };

/** The words of the command that makes the same change; without one, of the command that shows the job. */
export function changeWords(before: JobDraft, after: JobDraft): string[] {
  const changed = changedFields(before, after).flatMap((field) => {
    if (!isEmpty(after, field)) return flagsOf(field, after[field]);
    return removals[field] === undefined ? [] : [removals[field]];
  });
  return ['job', ...(changed.length === 0 ? ['show', before.name] : ['update', before.name, ...changed])];
}
