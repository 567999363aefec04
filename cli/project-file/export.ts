import { isDeepStrictEqual } from 'node:util';
import { stringify } from 'yaml';
import type { z } from 'zod';
import { page } from '../../runtime/contracts/api/common.ts';
import { gitSourceView } from '../../runtime/contracts/api/git.ts';
import { bindingView, type BindingView } from '../../runtime/contracts/api/bindings.ts';
import { projectView, type EnvironmentView } from '../../runtime/contracts/api/projects.ts';
import { secretView } from '../../runtime/contracts/api/variables.ts';
import { defaultPrefixes } from '../../runtime/contracts/resources/binding.ts';
import { defaultDatabase } from '../../runtime/contracts/resources/bound-database.ts';
import { projectFileKinds, type ProjectFileKind } from '../../runtime/contracts/project-file.ts';
import { segment } from '../client.ts';
import type { Context } from '../context.ts';
import { resolveScope, type Scope } from '../scope.ts';
import type { Settings } from './compare.ts';
import { readLiveObjects, type LiveObject } from './live.ts';
import { mapLimited } from './parallel.ts';
import { rulesByKind } from './rules.ts';

type Sections = Partial<Record<ProjectFileKind, Record<string, Settings>>>;

/** Kinds whose secrets and bindings the API lists. */
const boundKinds: readonly ProjectFileKind[] = ['apps', 'functions', 'jobs'];

/**
 * The project file of one environment, or of all. Settings with their default value are left out.
 * @returns the text, and the functions whose code the file cannot name, because the API does not show it
 */
export async function exportProjectFile(
  context: Context,
  { api, project, environment }: { api: string | undefined; project: string; environment: string | undefined },
): Promise<{ text: string; functions: readonly string[] }> {
  const { environments } = await context.api({ api }).call('GET', `/projects/${segment(project)}`, projectView);
  // The API says which environments there are when it does not have this one.
  const environmentView = environments.find(({ name }) => name === environment) ?? { name: environment ?? '' };
  const selection: readonly Pick<EnvironmentView, 'name' | 'ownLimits'>[] =
    environment === undefined ? environments : [environmentView];
  const sections = await Promise.all(
    selection.map(async (view) => ({
      name: view.name,
      limits: limitsOf(view),
      objects: await exportObjects(resolveScope(context, { api, project, environment: view.name }), view.name),
    })),
  );
  const [only, ...others] = sections;
  const all = sections.map(({ name, limits, objects }) => [name, { ...limits, ...objects }]);
  const file =
    only && others.length === 0
      ? { project, environments: { [only.name]: only.limits }, ...only.objects }
      : { project, environments: Object.fromEntries(all) };
  const functions = sections.flatMap(({ objects: { functions: code = {} } }) =>
    Object.entries(code).flatMap(([name, { codeFile }]) => (codeFile === undefined ? [] : [name])),
  );
  return { text: stringify(file), functions: [...new Set(functions)] };
}

/** The limits that were set for the environment. The others are the installation's, which may change. */
function limitsOf({ ownLimits = {} }: Pick<EnvironmentView, 'ownLimits'>): { limits?: Settings } {
  return Object.keys(ownLimits).length > 0 ? { limits: ownLimits } : {};
}

async function exportObjects(scope: Scope, environment: string): Promise<Sections> {
  const live = [...(await readLiveObjects(scope, [])).values()].filter(({ deleting }) => !deleting);
  const objects = await mapLimited(live, async (object) => ({
    ...object,
    settings: {
      ...exportSettings(object, scope.project, environment),
      ...(await readDetails(scope, object, environment)),
    },
  }));
  return Object.fromEntries(
    projectFileKinds.flatMap((kind) => {
      const entries = objects.filter((object) => object.kind === kind).map(({ name, settings }) => [name, settings]);
      return entries.length === 0 ? [] : [[kind, Object.fromEntries(entries)]];
    }),
  );
}

/** The settings that differ from their defaults, in the form of the file. */
function exportSettings(
  { kind, name, settings, chosenByCluster }: LiveObject,
  project: string,
  environment: string,
): Settings {
  const { code, hostname, bindings: _, volumes, env, ...rest } = settings;
  const rules = rulesByKind[kind];
  const own = Object.entries(rest).filter(
    ([setting, value]) => !chosenByCluster.includes(setting) && !isDeepStrictEqual(value, rules[setting]?.default),
  );
  const mounts = volumes as { name: string; path: string }[] | undefined;
  const isDefaultHost =
    typeof hostname !== 'string' ||
    hostname.startsWith(`${name}--${project}-${environment}.`) ||
    hostname.startsWith(`fn-${name}--`);
  return {
    ...Object.fromEntries(own),
    ...(code !== undefined && { codeFile: `${name}.${settings['runtime'] === 'python' ? 'py' : 'js'}` }),
    ...(!isDefaultHost && { hostname }),
    ...(mounts && mounts.length > 0 && { volumes: mounts.map((mount) => `${mount.name}:${mount.path}`) }),
    ...(env !== undefined && Object.keys(env as object).length > 0 && { env }),
  };
}

/** What lists do not show: the git source, the names of secrets, and the bindings. */
async function readDetails(scope: Scope, { kind, name, settings }: LiveObject, environment: string): Promise<Settings> {
  if (!boundKinds.includes(kind)) return {};
  const read = <Schema extends z.ZodType>(below: string, schema: Schema) =>
    scope.api.call('GET', scope.path(kind, name, below), schema, { query: scope.query });
  const secrets = (await read('secrets', page(secretView))).items.map((secret) => secret.name);
  const bindings = settings['bindings'] === undefined ? [] : (await read('bindings', page(bindingView))).items;
  const git = kind === 'apps' ? await read('git', gitSourceView) : undefined;
  return {
    ...(secrets.length > 0 && { secrets }),
    ...(bindings.length > 0 && { bindings: bindings.map((binding) => exportBinding(binding, { name, environment })) }),
    ...(git?.configured && {
      // The builds' image belongs to this environment; the file names the source instead.
      image: undefined,
      git: { url: git.url, branch: git.branch, path: git.path, dockerfile: git.dockerfile },
    }),
  };
}

/** The service's name, or what differs from a binding to it by that name alone. */
function exportBinding(
  { service, type, prefix, database }: BindingView,
  workload: { name: string; environment: string },
): string | Settings {
  const defaults = type && { prefix: defaultPrefixes[type], database: defaultDatabase(type, { service, ...workload }) };
  const settings = {
    ...(prefix !== undefined && prefix !== defaults?.prefix && { prefix }),
    // It is not known before the binding is ready.
    ...(database !== undefined && database !== defaults?.database && { database }),
  };
  return Object.keys(settings).length === 0 ? service : { service, ...settings };
}
