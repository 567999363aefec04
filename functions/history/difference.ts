import {
  comparedFields,
  settingNames,
  type RevisionDifference,
  type RevisionView,
} from '../../runtime/contracts/api/revisions.ts';
import type { DeploymentView } from '../../runtime/contracts/api/apps.ts';
import type { OtherSettings, RevisionSettings } from '../../runtime/contracts/resources/app-settings.ts';
import type { Variable } from '../../runtime/domain/variables.ts';

/** The configuration of an app at one time. A part that is undefined is not known. */
export interface Configuration {
  deployment: DeploymentView | undefined;
  settings: Omit<RevisionSettings, 'env'> | undefined;
  otherSettings: OtherSettings | undefined;
  variables: readonly Variable[] | undefined;
  /** The values of its secrets and of the variables of its bindings, by name. They are compared and never shown. */
  secrets: ReadonlyMap<string, string> | undefined;
}

interface ComparisonOptions {
  /** Whether the caller may see the value of a variable. */
  maySee: (variable: Variable) => boolean;
  /** Names of variables that bindings set now: a rollback renews their values instead of restoring them. */
  bound?: ReadonlySet<string>;
}

type SettingName = (typeof settingNames)[number];
type Comparison = Pick<NonNullable<RevisionView['comparison']>, 'differences' | 'unknown'>;

/** Settings that `rollback --with-config` restores. */
const restorableSettings: readonly SettingName[] = ['port', 'healthPath', 'memory', 'cpu', 'volumes'];

/** What differs between two configurations of an app. Pure. */
export function compareConfigurations(
  before: Configuration,
  after: Configuration,
  { maySee, bound = new Set() }: ComparisonOptions,
): Comparison {
  const settings = settingNames.map((name) => ({
    name,
    old: settingTexts[name](before),
    next: settingTexts[name](after),
  }));
  const isUnknown = (value: string | null | undefined) => value === undefined;
  return {
    differences: [
      ...fieldDifferences(before.deployment, after.deployment),
      ...settings.flatMap(({ name, old, next }) =>
        isUnknown(old) || isUnknown(next) || old === next
          ? []
          : [{ ...difference('setting', name, old, next), restorable: restorableSettings.includes(name) }],
      ),
      ...variableDifferences(before.variables, after.variables, maySee),
      ...secretDifferences(before.secrets, after.secrets, bound),
    ],
    unknown: [
      ...settings.filter(({ old, next }) => isUnknown(old) || isUnknown(next)).map(({ name }) => name),
      ...(before.variables && after.variables ? [] : (['variables'] as const)),
      ...(before.secrets && after.secrets ? [] : (['secrets'] as const)),
    ],
  };
}

/** A difference with both values; undefined and null stand for one that is not set. */
function difference(
  kind: RevisionDifference['kind'],
  name: string,
  old: string | null | undefined,
  next: string | null | undefined,
): Omit<RevisionDifference, 'restorable'> {
  const [before, after] = [old ?? undefined, next ?? undefined];
  return {
    kind,
    name,
    change: before === undefined ? 'added' : after === undefined ? 'removed' : 'changed',
    ...(before !== undefined && { before }),
    ...(after !== undefined && { after }),
  };
}

function fieldDifferences(before: DeploymentView | undefined, after: DeploymentView | undefined): RevisionDifference[] {
  if (!before || !after) return [];
  return comparedFields.flatMap((name) => {
    // No digest is known until pods have started, and no image until it is built.
    const isUnknown = (name === 'digest' || name === 'image') && (!before[name] || !after[name]);
    if (isUnknown || before[name] === after[name]) return [];
    return [{ ...difference('deployment', name, before[name], after[name]), restorable: true }];
  });
}

function variableDifferences(
  before: readonly Variable[] | undefined,
  after: readonly Variable[] | undefined,
  maySee: ComparisonOptions['maySee'],
): RevisionDifference[] {
  if (!before || !after) return [];
  const old = new Map(before.map(({ name, value }) => [name, value]));
  const next = new Map(after.map(({ name, value }) => [name, value]));
  return namesOf(old, next).flatMap((name) => {
    if (old.get(name) === next.get(name)) return [];
    const { before: oldValue, after: nextValue, ...rest } = difference('variable', name, old.get(name), next.get(name));
    const isVisible = (value: string | undefined) => value !== undefined && maySee({ name, value });
    return [
      {
        ...rest,
        ...(isVisible(oldValue) && { before: oldValue }),
        ...(isVisible(nextValue) && { after: nextValue }),
        restorable: true,
      },
    ];
  });
}

/** By name only: whether a value is the same is all that is told about it. */
function secretDifferences(
  before: ReadonlyMap<string, string> | undefined,
  after: ReadonlyMap<string, string> | undefined,
  bound: ReadonlySet<string>,
): RevisionDifference[] {
  if (!before || !after) return [];
  return namesOf(before, after).flatMap((name) => {
    if (before.get(name) === after.get(name)) return [];
    const { change } = difference('secret', name, before.get(name), after.get(name));
    return [{ kind: 'secret' as const, name, change, restorable: !bound.has(name) }];
  });
}

function namesOf(before: ReadonlyMap<string, string>, after: ReadonlyMap<string, string>): string[] {
  return [...new Set([...before.keys(), ...after.keys()])].sort((a, b) => (a < b ? -1 : 1));
}

/** Settings as the command line writes them: null for one that is not set, undefined for one that is not known. */
const settingTexts: Readonly<Record<SettingName, (configuration: Configuration) => string | null | undefined>> = {
  port: ({ settings }) => settings && String(settings.port),
  healthPath: ({ settings }) => settings && (settings.healthPath ?? null),
  memory: ({ settings }) => settings && (settings.memory ?? null),
  cpu: ({ settings }) => settings && (settings.cpu ?? null),
  volumes: ({ settings }) => settings && listText((settings.volumes ?? []).map(({ name, path }) => `${name}:${path}`)),
  replicas: ({ otherSettings }) => otherSettings && String(otherSettings.replicas),
  releaseCommand: ({ otherSettings }) => otherSettings && (otherSettings.releaseCommand?.join(' ') ?? null),
  bindings: ({ otherSettings }) => otherSettings && listText(otherSettings.bindings.map(bindingText)),
  autoRollback: ({ otherSettings }) => otherSettings && (otherSettings.autoRollback ? 'on' : 'off'),
};

function bindingText({ service, prefix, database }: OtherSettings['bindings'][number]): string {
  const details = [
    ...(prefix === undefined ? [] : [`prefix ${prefix}`]),
    ...(database === undefined ? [] : [`database ${database}`]),
  ];
  return details.length === 0 ? service : `${service} (${details.join(', ')})`;
}

function listText(items: readonly string[]): string | null {
  return items.length === 0 ? null : items.join(', ');
}
