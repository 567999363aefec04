import type { Action, EnvironmentPlan, ObjectPlan, Plan } from './plan.ts';
import type { SettingChange } from './compare.ts';

const signs: Readonly<Record<Action, string>> = { create: '+', update: '~', delete: '-', forget: '?' };
/** The most objects outside of the file that are named. */
const othersMax = 10;
/** The most characters of a value that are shown. */
const valueMax = 120;
const digestShape = /^[0-9a-f]{64}$/;

/** How many objects, environments and projects each action concerns. */
type Counts = Record<Action | 'unchanged', number>;

/** The differences, for people. Objects without a difference are only counted. */
export function planText({ file, isNewProject, environments }: Plan): string {
  const lines = isNewProject ? [`+ project ${file.project}`] : [];
  for (const environment of environments) {
    const body = environmentLines(environment);
    if (environment.isNew || body.length > 0) {
      lines.push(`${environment.isNew ? '+ ' : ''}environment ${environment.environment}`, ...body);
    }
  }
  const counts = countActions(environments);
  if (isNewProject) counts.create++;
  const parts = [
    `${counts.create} to create`,
    `${counts.update} to change`,
    `${counts.delete} to delete`,
    `${counts.unchanged} unchanged`,
  ];
  if (counts.forget > 0) parts.push(`${counts.forget} no longer in the file`);
  return [...lines, `${parts.join(', ')}.`].join('\n');
}

function environmentLines({ limits, objects, others }: EnvironmentPlan): string[] {
  const limitLines = limits.changes.map((change) => `  ~ limits.${changeText(change, '(default)')}`);
  return [...limitLines, ...objects.flatMap(objectLines), ...otherLines(others)];
}

/** One line for all, because another file may describe many of them. */
function otherLines(others: EnvironmentPlan['others']): string[] {
  if (others.length === 0) return [];
  const names = others.slice(0, othersMax).map(({ kind, name }) => `${kind.slice(0, -1)} ${name}`);
  const rest = others.length > othersMax ? ` and ${others.length - othersMax} more` : '';
  return [`  ? not in the file: ${names.join(', ')}${rest}`];
}

function objectLines(object: ObjectPlan): string[] {
  const { kind, name, action, changes, missingSecrets, missingServices = [], note } = object;
  const subject = `${kind.slice(0, -1)} ${name}`;
  const details = [
    ...(action === 'update' ? changes.map((change) => `      ${changeText(change)}`) : []),
    ...missingSecrets.map((secret) => `      secret ${secret} has no value yet`),
    ...missingServices.map(
      (service) => `      service ${service} does not exist: add it to the file, or create it first`,
    ),
  ];
  if (note !== undefined) return [`  ? ${subject}: ${note}`, ...details];
  if (action === undefined) return details.length > 0 ? [`  ~ ${subject}`, ...details] : [];
  const suffix = action === 'forget' ? ' is no longer in the file and stays' : '';
  return [`  ${signs[action]} ${subject}${suffix}`, ...details];
}

function changeText({ setting, before, after }: SettingChange, absent = '(none)'): string {
  const from = before === undefined ? absent : valueText(before);
  return `${setting}: ${from} -> ${after === undefined ? '(default)' : valueText(after)}`;
}

function valueText(value: unknown): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  if (digestShape.test(text)) return `sha256:${text.slice(0, 12)}`;
  const line = text.replaceAll(/\p{Cc}/gu, ' ');
  return line.length > valueMax ? `${line.slice(0, valueMax)}…` : line;
}

function countActions(environments: readonly EnvironmentPlan[]): Counts {
  const counts: Counts = { create: 0, update: 0, delete: 0, forget: 0, unchanged: 0 };
  for (const { isNew, limits, objects } of environments) {
    if (isNew) counts.create++;
    else if (limits.changes.length > 0) counts.update++;
    for (const { action } of objects) counts[action ?? 'unchanged']++;
  }
  return counts;
}

/** The differences, for programs: one entry for each object that changes. */
export function planData({ file, isNewProject, environments }: Plan): object {
  return {
    project: file.project,
    createProject: isNewProject,
    environments: environments.map(({ environment, isNew, limits, objects, others }) => ({
      environment,
      create: isNew,
      limits: limits.changes,
      objects: objects
        .filter((object) => object.action ?? object.note ?? lacksSomething(object))
        .map(({ kind, name, action, changes, missingSecrets, missingServices = [], note }) => ({
          kind,
          name,
          ...(action !== undefined && { action }),
          ...(action === 'update' && { changes }),
          ...(missingSecrets.length > 0 && { missingSecrets }),
          ...(missingServices.length > 0 && { missingServices }),
          ...(note !== undefined && { note }),
        })),
      others: others.map(({ kind, name }) => ({ kind, name })),
    })),
  };
}

/** Whether an object needs secrets or services that do not exist. */
function lacksSomething({ missingSecrets, missingServices = [] }: ObjectPlan): boolean {
  return missingSecrets.length > 0 || missingServices.length > 0;
}

/** Whether applying the plan changes anything on the platform. */
export function hasChanges({ isNewProject, environments }: Plan): boolean {
  return (
    isNewProject ||
    environments.some(
      ({ isNew, limits, objects }) =>
        isNew ||
        limits.changes.length > 0 ||
        objects.some((object) => (object.action !== undefined && object.action !== 'forget') || lacksSomething(object)),
    )
  );
}
