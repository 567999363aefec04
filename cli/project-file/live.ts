import type { z } from 'zod';
import { appView, type AppView } from '../../runtime/contracts/api/apps.ts';
import { bindingView } from '../../runtime/contracts/api/bindings.ts';
import { page } from '../../runtime/contracts/api/common.ts';
import { functionView, type FunctionView } from '../../runtime/contracts/api/functions.ts';
import { gitSourceView } from '../../runtime/contracts/api/git.ts';
import { jobView } from '../../runtime/contracts/api/jobs.ts';
import { planView } from '../../runtime/contracts/api/plans.ts';
import { serviceView, type ServiceView } from '../../runtime/contracts/api/services.ts';
import { secretView } from '../../runtime/contracts/api/variables.ts';
import { volumeView } from '../../runtime/contracts/api/volumes.ts';
import { projectFileKinds, type ProjectFileKind } from '../../runtime/contracts/project-file.ts';
import type { Scope } from '../scope.ts';
import { mapLimited } from './parallel.ts';
import { keyOf, type FileObject } from './load.ts';
import type { Settings } from './compare.ts';

/** An object of the platform, in the form of {@link FileObject}. */
export interface LiveObject {
  kind: ProjectFileKind;
  name: string;
  /** For plans, which the API addresses by id. */
  id: string;
  settings: Settings;
  /** Settings whose value the cluster chose. An export leaves them out. */
  chosenByCluster: readonly string[];
  /** The names of its secrets; read only when a file names some. */
  secrets: readonly string[];
  /** Whether it is being deleted. */
  deleting: boolean;
}

const views = {
  services: serviceView,
  volumes: volumeView,
  plans: planView,
  functions: functionView,
  jobs: jobView,
  apps: appView,
} as const satisfies Record<ProjectFileKind, z.ZodType>;

type View<Kind extends ProjectFileKind> = z.output<(typeof views)[Kind]>;

type SettingsReaders = { [Kind in ProjectFileKind]: (view: View<Kind>) => Settings };

const settingsOf: SettingsReaders = {
  services: ({ type, size, storageClass, external, host, port, tls }) => ({
    type,
    ...(size !== undefined && { size }),
    ...(storageClass !== undefined && { storageClass }),
    ...(external && { external: externalOf({ host, port, tls }) }),
  }),
  volumes: ({ size, storageClass, accessMode }) => ({
    size,
    accessMode,
    ...(storageClass !== undefined && { storageClass }),
  }),
  plans: ({ requestsPerSecond, burst, quota }) => ({ requestsPerSecond, burst, ...(quota && { quota }) }),
  functions: (view) => ({ ...functionSettings(view), ...routedSettings(view) }),
  jobs: ({ image, command, env, volumes, memory, cpu, schedule, timeoutSeconds, bindings = [], ...view }) => ({
    image,
    env,
    volumes,
    timeZone: view.timeZone,
    overlap: view.overlap,
    suspended: view.suspended,
    retries: view.retries,
    historyLimit: view.historyLimit,
    ...present({ command, memory, cpu, schedule, timeoutSeconds, bindings: liveBindings(bindings) }),
  }),
  apps: (view) => ({
    ...(view.image !== '' && { image: view.image }),
    port: view.port,
    replicas: view.replicas,
    autoRollback: view.autoRollback,
    extraHosts: view.extraHosts,
    env: view.env,
    volumes: view.volumes,
    ...present({
      healthPath: view.healthPath,
      releaseCommand: view.releaseCommand,
      memory: view.memory,
      cpu: view.cpu,
    }),
    ...routedSettings(view),
  }),
};

function functionSettings({ events, codeDigest, ...view }: FunctionView): Settings {
  const { runtime, image, dependencies, port, schedule, timeZone, overlap, memory, cpu } = view;
  const { idleTimeoutSeconds, concurrency, targetRate, requestTimeoutSeconds, minReplicas, maxReplicas } = view;
  return {
    trigger: view.trigger,
    env: view.env,
    volumes: view.volumes,
    ...present({ code: codeDigest, runtime, image, dependencies, port, schedule, timeZone, overlap, memory, cpu }),
    ...(view.trigger !== 'cron' && {
      idleTimeoutSeconds,
      concurrency,
      targetRate,
      requestTimeoutSeconds,
      minReplicas,
      maxReplicas,
    }),
    ...(events && { events: eventSettings(events) }),
  };
}

function eventSettings({
  type,
  source,
  query,
  markDone,
  list,
  bucket,
  concurrency,
}: NonNullable<FunctionView['events']>) {
  return { type, source, concurrency, ...present({ query, markDone, list, bucket }) };
}

function routedSettings({ url, security, gate, bindings = [] }: AppView | FunctionView): Settings {
  return {
    ...(url !== undefined && { hostname: new URL(url).hostname }),
    ...(security && { security }),
    ...(gate !== undefined && { gate: gate === 'applying' || gate === 'gated' }),
    ...present({ bindings: liveBindings(bindings) }),
  };
}

/** By service, without those that are being removed; undefined when none is left. */
function liveBindings(bindings: NonNullable<AppView['bindings']>): Settings | undefined {
  const remaining = bindings.filter(({ status }) => status !== 'deleting');
  return remaining.length === 0 ? undefined : Object.fromEntries(remaining.map(({ service }) => [service, {}]));
}

function externalOf({ host, port, tls }: Pick<ServiceView, 'host' | 'port' | 'tls'>): Settings {
  return { ...present({ host, port }), tls };
}

/** The fields that have a value. */
function present(fields: Settings): Settings {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

/**
 * Reads all objects of an environment. What lists do not show is read for the file's objects: the git sources of apps, and
 * where the file names them, secrets and the prefixes and databases of bindings.
 */
export async function readLiveObjects(scope: Scope, file: readonly FileObject[]): Promise<Map<string, LiveObject>> {
  const lists = await mapLimited(projectFileKinds, (kind) => readKind(scope, kind));
  const live = new Map(lists.flat().map((object) => [keyOf(object), object]));
  await mapLimited(file, async (object) => {
    const existing = live.get(keyOf(object));
    if (existing) live.set(keyOf(object), await withDetails(scope, existing, object));
  });
  return live;
}

/** What the views of all kinds may have. */
interface ListedView {
  id: string;
  name: string;
  status?: string;
  isDefaultStorageClass?: boolean;
}

async function readKind(scope: Scope, kind: ProjectFileKind): Promise<LiveObject[]> {
  // The schema and the function belong to the same kind, which the compiler cannot see.
  const schema = views[kind] as z.ZodType<ListedView>;
  const toSettings = settingsOf[kind] as (view: unknown) => Settings;
  const items = await scope.api.list(scope.path(kind), schema, { ...scope.query, limit: 500 });
  return items.map((view) => ({
    kind,
    name: view.name,
    id: view.id,
    settings: toSettings(view),
    chosenByCluster: view.isDefaultStorageClass === true ? ['storageClass'] : [],
    secrets: [],
    deleting: view.status === 'deleting',
  }));
}

async function withDetails(scope: Scope, live: LiveObject, file: FileObject): Promise<LiveObject> {
  const { kind, name } = live;
  const { query, api } = scope;
  const read = <Schema extends z.ZodType>(below: string, schema: Schema) =>
    api.call('GET', scope.path(kind, name, below), schema, { query });
  // Also when the file names none: it may have named one before.
  const git = kind === 'apps' ? await read('git', gitSourceView) : undefined;
  const secrets = file.secrets.length === 0 ? undefined : await read('secrets', page(secretView));
  const bindingSettings = Object.values((file.settings['bindings'] ?? {}) as Settings);
  const detailed = bindingSettings.some((settings) => Object.keys(settings as object).length > 0);
  const bindings = detailed ? await read('bindings', page(bindingView)) : undefined;
  return {
    ...live,
    settings: {
      ...live.settings,
      ...(git?.configured && {
        git: present({ url: git.url, branch: git.branch, path: git.path, dockerfile: git.dockerfile }),
      }),
      ...(bindings && {
        bindings: Object.fromEntries(
          bindings.items
            .filter(({ status }) => status !== 'deleting')
            .map(({ service, prefix, database }) => [service, present({ prefix, database })]),
        ),
      }),
    },
    secrets: secrets?.items.map((secret) => secret.name) ?? [],
  };
}
