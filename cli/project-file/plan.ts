import type { AppliedConfigurationView, AppliedObjects } from '../../runtime/contracts/api/applied-configurations.ts';
import { appliedConfigurationView } from '../../runtime/contracts/api/applied-configurations.ts';
import { projectView, type EnvironmentView, type ProjectView } from '../../runtime/contracts/api/projects.ts';
import { projectFileKinds, type ProjectFileKind } from '../../runtime/contracts/project-file.ts';
import { segment } from '../client.ts';
import type { Context } from '../context.ts';
import { Failure, unlessMissing, usageFailure } from '../failure.ts';
import { resolveScope, type Scope } from '../scope.ts';
import { compareSettings, isRecord, type Comparison, type SettingChange, type Settings } from './compare.ts';
import { readLiveObjects, type LiveObject } from './live.ts';
import { keyOf, loadObjects, type FileObject } from './load.ts';
import type { FileEnvironment, ProjectFile } from './read.ts';
import { limitRules, rulesByKind } from './rules.ts';

/** What happens to one object: `forget` for one that has left the file and stays. */
export type Action = 'create' | 'update' | 'delete' | 'forget';

export interface ObjectPlan {
  kind: ProjectFileKind;
  name: string;
  /** Undefined: nothing changes. */
  action: Action | undefined;
  changes: readonly SettingChange[];
  /** The settings to send. */
  body: Comparison['body'];
  /** Absent for an object that has left the file. */
  file?: FileObject;
  live?: LiveObject;
  /** Secrets that it needs and does not have. */
  missingSecrets: readonly string[];
  /** Services that its bindings or events name, and that neither the file nor the environment has. */
  missingServices?: readonly string[];
  /** Why nothing can be done about it here. */
  note?: string;
}

export interface EnvironmentPlan {
  environment: string;
  scope: Scope;
  /** Whether the environment has to be created. */
  isNew: boolean;
  limits: Comparison;
  objects: readonly ObjectPlan[];
  /** Objects that the file neither has nor had. Nothing happens to them. */
  others: readonly Pick<LiveObject, 'kind' | 'name'>[];
  /** What was applied before; undefined if nothing was. */
  applied: AppliedConfigurationView | undefined;
  /** What the file has now, for the record. */
  desired: AppliedObjects;
}

export interface Plan {
  file: ProjectFile;
  /** Whether the project has to be created. */
  isNewProject: boolean;
  environments: readonly EnvironmentPlan[];
}

export interface PlanOptions {
  api: string | undefined;
  /** Default: all environments of the file; if it has none, the project's only one. */
  environment: string | undefined;
  /** Whether objects that have left the file are deleted. */
  prune: boolean;
  /** Whether services and volumes are, too. */
  pruneData: boolean;
}

/**
 * Compares a project file with the platform. Changes nothing.
 * @throws Failure for an environment that the file does not have, or a change that needs a new object
 */
export async function planProjectFile(context: Context, file: ProjectFile, options: PlanOptions): Promise<Plan> {
  const project = await readProject(context, file.project, options);
  const names = environmentNames(file, project, options.environment);
  const environments: EnvironmentPlan[] = [];
  for (const name of names) {
    const own = file.environments.get(name) ?? { limits: undefined, objects: file.objects };
    const view = project?.environments.find((environment) => environment.name === name);
    environments.push(await planEnvironment(context, file, { name, own, view, options }));
  }
  checkPossible(environments);
  return { file, isNewProject: project === undefined, environments };
}

async function readProject(context: Context, name: string, { api }: PlanOptions): Promise<ProjectView | undefined> {
  return unlessMissing(context.api({ api }).call('GET', `/projects/${segment(name)}`, projectView));
}

/** The environments to compare. @throws Failure (usage) */
function environmentNames(file: ProjectFile, project: ProjectView | undefined, chosen: string | undefined): string[] {
  const names = [...file.environments.keys()];
  if (chosen !== undefined) {
    if (names.length === 0 || names.includes(chosen)) return [chosen];
    throw usageFailure(`${file.path} has no environment "${chosen}"; it has ${names.join(', ')}.`);
  }
  if (names.length > 0) return names;
  const existing = project?.environments.map(({ name }) => name) ?? ['prod'];
  if (existing.length === 1) return existing;
  throw usageFailure(
    `The project "${file.project}" has several environments: ${existing.join(', ')}.`,
    'choose one with --environment, or name those of the file below "environments:"',
  );
}

async function planEnvironment(
  context: Context,
  file: ProjectFile,
  {
    name,
    own,
    view,
    options,
  }: { name: string; own: FileEnvironment; view: EnvironmentView | undefined; options: PlanOptions },
): Promise<EnvironmentPlan> {
  const scope = resolveScope(context, { api: options.api, project: file.project, environment: name });
  const objects = loadObjects(own.objects, file.path);
  const applied = view && (await readApplied(scope, file.name));
  const live = view ? await readLiveObjects(scope, objects) : new Map<string, LiveObject>();
  const services = new Set(
    [...objects, ...[...live.values()].filter(({ deleting }) => !deleting)].flatMap((object) =>
      object.kind === 'services' ? [object.name] : [],
    ),
  );
  const desired = { ...recordOf(objects), environments: { [name]: { limits: own.limits ?? {} } } };
  const limits = compareSettings(limitRules, {
    desired: own.limits ?? {},
    applied: appliedSettings(applied, 'environments', name)?.['limits'] as Settings | undefined,
    // Without the defaults: a limit that equals today's default stays when the default changes.
    live: view?.ownLimits ?? {},
  });
  return {
    environment: name,
    scope,
    isNew: view === undefined,
    limits,
    objects: [
      ...objects.map((object) => ({
        ...planObject(object, live.get(keyOf(object)), applied),
        missingServices: servicesOf(object).filter((service) => !services.has(service)),
      })),
      ...removedObjects(objects, live, applied, options),
    ],
    others: otherObjects(objects, live, applied),
    applied,
    desired,
  };
}

/** What was last applied from the file of that name; undefined if nothing was. */
async function readApplied(scope: Scope, name: string): Promise<AppliedConfigurationView | undefined> {
  const path = scope.path('applied-configurations', name);
  return unlessMissing(scope.api.call('GET', path, appliedConfigurationView, { query: scope.query }));
}

function appliedSettings(
  applied: AppliedConfigurationView | undefined,
  kind: string,
  name: string,
): Settings | undefined {
  const objects = applied && Object.hasOwn(applied.objects, kind) ? applied.objects[kind] : undefined;
  return objects && Object.hasOwn(objects, name) ? objects[name] : undefined;
}

/** The file's objects, in the form of the record. */
function recordOf(objects: readonly FileObject[]): AppliedObjects {
  const kinds = Map.groupBy(objects, ({ kind }) => kind);
  return Object.fromEntries(
    [...kinds].map(([kind, all]) => [kind, Object.fromEntries(all.map(({ name, settings }) => [name, settings]))]),
  );
}

function planObject(
  file: FileObject,
  live: LiveObject | undefined,
  applied: AppliedConfigurationView | undefined,
): ObjectPlan {
  const { kind, name, settings: desired } = file;
  const { changes, body } = compareSettings(rulesByKind[kind], {
    desired,
    applied: appliedSettings(applied, kind, name),
    live: live?.settings ?? {},
  });
  const missingSecrets = file.secrets.filter((secret) => !live?.secrets.includes(secret));
  const common = { kind, name, changes, file, missingSecrets };
  if (!live && kind === 'apps' && desired['image'] === undefined && desired['git'] === undefined) {
    return {
      ...common,
      action: undefined,
      changes: [],
      missingSecrets: [],
      body: {},
      note: 'has no image yet; deploy it from its folder with: svc deploy',
    };
  }
  if (!live) return { ...common, action: 'create', body: { ...desired } };
  if (live.deleting) {
    const note = 'is being deleted; apply the file again when it is gone';
    return { ...common, action: undefined, changes: [], missingSecrets: [], body: {}, note };
  }
  return { ...common, action: changes.length > 0 ? 'update' : undefined, body, live };
}

/** The services that an object uses. */
function servicesOf({ settings: { bindings, events } }: FileObject): string[] {
  const source = isRecord(events) ? events['source'] : undefined;
  const names = [...Object.keys(isRecord(bindings) ? bindings : {}), ...(typeof source === 'string' ? [source] : [])];
  return [...new Set(names)];
}

/** Objects of the environment that are in no state of the file. */
function otherObjects(
  objects: readonly FileObject[],
  live: ReadonlyMap<string, LiveObject>,
  applied: AppliedConfigurationView | undefined,
): LiveObject[] {
  const present = new Set(objects.map(keyOf));
  return [...live.values()].filter(
    (object) => !object.deleting && !present.has(keyOf(object)) && !appliedSettings(applied, object.kind, object.name),
  );
}

/** Objects that were applied from the file before, are no longer in it, and still exist; in the order of their deletion. */
function removedObjects(
  objects: readonly FileObject[],
  live: ReadonlyMap<string, LiveObject>,
  applied: AppliedConfigurationView | undefined,
  { prune, pruneData }: PlanOptions,
): ObjectPlan[] {
  const present = new Set(objects.map(keyOf));
  return projectFileKinds.toReversed().flatMap((kind) =>
    Object.keys(applied?.objects[kind] ?? {}).flatMap((name) => {
      const object = live.get(keyOf({ kind, name }));
      if (!object || object.deleting || present.has(keyOf(object))) return [];
      const holdsData = kind === 'services' || kind === 'volumes';
      const action = prune && (!holdsData || pruneData) ? 'delete' : 'forget';
      return [{ kind, name, action, changes: [], body: {}, live: object, missingSecrets: [] } satisfies ObjectPlan];
    }),
  );
}

/** @throws Failure `cannot_change` that lists the settings which can only be set at creation */
function checkPossible(environments: readonly EnvironmentPlan[]): void {
  const faults = environments.flatMap(({ environment, objects }) =>
    objects.flatMap(({ kind, name, action, changes }) =>
      action === 'create'
        ? []
        : changes
            .filter(({ fixed }) => fixed)
            .map(({ setting }) => `${environment}: ${kind}.${name}.${setting} cannot be changed`),
    ),
  );
  if (faults.length === 0) return;
  throw new Failure(faults.join('\n'), {
    code: 'cannot_change',
    hint: 'restore the setting in the file, or delete the object first, which deletes its data',
  });
}
