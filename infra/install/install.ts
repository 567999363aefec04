import { checkerService } from '../../runtime/contracts/gate-denials.ts';
import type { KubeObject, Stored } from '../../runtime/contracts/kubernetes.ts';
import { kinds } from '../../runtime/contracts/resources/kinds.ts';
import {
  checkPlatformConfig,
  faultsText,
  newestGoodSettings,
  settingsInForce,
} from '../../runtime/contracts/resources/platform-config-check.ts';
import { platformConfigName, type PlatformConfig } from '../../runtime/contracts/resources/platform-config.ts';
import type { Project } from '../../runtime/contracts/resources/project.ts';
import type { Clock } from '../../runtime/domain/clock.ts';
import { managedByLabel, managedByValue } from '../../runtime/domain/labels.ts';
import { monitoringNamespace, shipperNamespace } from '../../runtime/domain/monitoring.ts';
import {
  applyObject,
  deleteChild,
  ensureChild,
  ChildError,
  ForeignObjectError,
  NotYetError,
  refOf,
} from '../../runtime/kube/children.ts';
import { environmentsOf } from '../../runtime/kube/environments.ts';
import { isKubeError, type KubeClient } from '../../runtime/kube/kube-client.ts';
import { resourceOf } from '../../runtime/kube/resource-paths.ts';
import { customResourceDefinitions } from '../crds/custom-resources.ts';
import { environmentAccess } from '../manifests/platform/access.ts';
import { installation, optionalManifests, platformConfigOf } from '../manifests/platform/installation.ts';
import { withoutPreference } from '../manifests/platform/network.ts';
import { secretNamespace, systemSecrets, type SecretName } from '../manifests/platform/secrets.ts';
import { hasComponents, type PlatformSettings } from '../manifests/platform/settings.ts';
import { findIngressAddress } from './ingress-address.ts';
import { InstallError } from './install-error.ts';
import { withCurrent, withStoreAddresses } from './existing-settings.ts';
import { checkPrerequisites, isKnown } from './prerequisites.ts';
import { pauseMs, waitUntilEstablished, waitUntilReady, type WaitOptions } from './readiness.ts';
import { ensureLogStoreSecrets } from './log-store-secrets.ts';
import { ensureSecret } from './secrets.ts';

type Applied = 'created' | 'updated' | 'unchanged';

export interface InstallOptions {
  kube: KubeClient;
  clock: Clock;
  /** The time limit of the whole installation. */
  timeoutMs: number;
  /** Prints one line of progress. */
  log: (line: string) => void;
}

/** The objects that an installation created, updated or left unchanged. */
export type InstallReport = Record<Applied, string[]>;

/**
 * Installs the platform, or changes an installation to these settings. Repeating it with the same settings changes nothing.
 * @throws InstallError with a hint, when the cluster lacks a prerequisite, when an object of the same name belongs to
 * someone else, or when the platform is not ready in time
 */
export async function installPlatform(requested: PlatformSettings, options: InstallOptions): Promise<InstallReport> {
  const { kube, clock, log } = options;
  const deadline = clock.monotonic() + options.timeoutMs;
  const waitOptions = { kube, clock, deadline, log };
  const report: InstallReport = { created: [], updated: [], unchanged: [] };
  const note = (object: string, applied: Applied) => {
    report[applied].push(object);
    if (applied !== 'unchanged') log(`${applied} ${object}`);
  };
  await checkPrerequisites(kube, requested);
  const live = await kube.get<PlatformConfig>(kinds.PlatformConfig, platformConfigName);
  const located = await withStoreAddresses(await withIngress(requested, live, { kube, log }), kube);
  const desired = await withOwnMonitoring(located, { kube, log });
  const settings = completeSettings(desired, live);
  const keep = (live: KubeObject, next: KubeObject) =>
    next.kind === 'PlatformConfig'
      ? { ...next, spec: platformConfigOf(withCurrent(desired, live)) }
      : withLiveSelector(next, live);
  const apply = async (object: KubeObject) => {
    const simpler = withoutPreference(object);
    const applied = applyOwn(object, keep, waitOptions).catch((error: unknown) => {
      const refused = error instanceof ChildError && isKubeError(error.cause, 422);
      if (!simpler || !refused) throw error;
      return applyOwn(simpler, keep, waitOptions);
    });
    note(nameOf(object), await applied);
  };

  for (const definition of customResourceDefinitions) await apply(definition);
  await waitUntilEstablished(
    customResourceDefinitions.map(({ metadata }) => metadata.name),
    waitOptions,
  );
  const { namespace, environmentRoles, monitoring, access, stores, platform } = installation(settings);
  await apply(namespace);
  for (const object of [...environmentRoles, ...monitoring]) await apply(object);
  await bindEnvironments(kube);
  for (const secret of neededSecrets(settings)) {
    note(`Secret ${secretNamespace(secret)}/${systemSecrets[secret].name}`, await ensureSecret(kube, secret));
  }
  if (hasComponents(settings)) await ensureLogStoreSecrets(kube, note);
  for (const object of [...access, ...stores, ...platform]) await apply(object);
  const names = new Set(platform.map(nameOf));
  for (const object of optionalManifests(settings)) if (!names.has(nameOf(object))) await removeOwn(object, kube, log);
  if (report.created.length + report.updated.length === 0) log('unchanged');
  await waitUntilReady(
    [...stores, ...platform].filter(({ kind }) => /^(Deployment|StatefulSet)$/.test(kind)).map((o) => o.metadata.name),
    waitOptions,
  );
  return report;
}

/** The settings with the ingress's address: the requested one, the address of Traefik's Service, or the current one. */
async function withIngress(
  settings: PlatformSettings,
  live: Stored<PlatformConfig> | undefined,
  { kube, log }: Pick<InstallOptions, 'kube' | 'log'>,
): Promise<PlatformSettings> {
  if (settings.ingressAddress !== undefined) return settings;
  const ingressAddress =
    (await findIngressAddress(kube, settings.entryPoints)) ?? newestGoodSettings(live)?.ingressAddress;
  if (ingressAddress !== undefined) return { ...settings, ingressAddress };
  log(
    `warning: found no Traefik Service with a port named ${settings.entryPoints.join(' or ')}. Until you set --ingress-address to the address of the ingress inside the cluster, gates of apps stay "applying".`,
  );
  return settings;
}

/**
 * The settings, completed with the installation's current ones.
 * @throws InstallError when they are invalid, before anything is changed
 */
function completeSettings(requested: PlatformSettings, live: Stored<PlatformConfig> | undefined): PlatformSettings {
  const settings = withCurrent(requested, live);
  const checked = checkPlatformConfig(platformConfigOf(settings), settingsInForce(live));
  if ('spec' in checked) return settings;
  throw new InstallError(
    `The settings are not valid: ${faultsText(checked.faults)}.`,
    checked.faults.some(({ path }) => path === 'appsDomain' || path === 'cluster')
      ? 'To change the default hosts of all apps and functions, first delete the settings with `kubectl delete platformconfig platform`, then install with all flags that you want to keep.'
      : 'Nothing was changed.',
    { reason: 'settings' },
  );
}

/** The generated Secrets of an installation with these settings. */
export function neededSecrets(settings: PlatformSettings): SecretName[] {
  const names = Object.keys(systemSecrets) as SecretName[];
  return hasComponents(settings) ? names : names.filter((name) => name !== 'dashboards');
}

/**
 * The settings without the components of monitoring where a namespace of them exists already: a monitoring stack that
 * the cluster has stays untouched.
 */
async function withOwnMonitoring(
  settings: PlatformSettings,
  { kube, log }: Pick<InstallOptions, 'kube' | 'log'>,
): Promise<PlatformSettings> {
  if (!hasComponents(settings)) return settings;
  for (const name of [monitoringNamespace, shipperNamespace]) {
    const live = await kube.get(kinds.Namespace, name);
    if (!live || live.metadata.labels?.[managedByLabel] === managedByValue) continue;
    log(
      `warning: the namespace ${name} exists, and svc did not create it, so metrics, logs and dashboards are not installed. Let your own Prometheus collect the metrics (--scrape), or delete the namespace and run the same command again.`,
    );
    const { monitoring: _, ...optional } = settings.optional;
    return { ...settings, optional };
  }
  return settings;
}

/**
 * Gives the processes their rights in existing environments, as the controllers do in new ones: an older installation
 * had these rights in the whole cluster, and loses them next.
 */
async function bindEnvironments(kube: KubeClient): Promise<void> {
  const { items: projects } = await kube.list<Project>(kinds.Project);
  for (const project of projects) {
    for (const { namespace, ready } of environmentsOf(project)) {
      if (!ready) continue;
      for (const binding of environmentAccess(namespace)) await ensureChild<KubeObject>(kube, project, binding);
    }
  }
}

/** The Service of the checkers keeps its pods: svc-controllers chooses them (decision 0057). Pure. */
function withLiveSelector(next: KubeObject, live: KubeObject): KubeObject {
  if (next.kind !== 'Service' || next.metadata.name !== checkerService) return next;
  const { selector } = live.spec as { selector?: unknown };
  return selector === undefined ? next : { ...next, spec: { ...(next.spec as object), selector } };
}

/** Deletes an object that only other settings need. */
async function removeOwn(object: KubeObject, kube: KubeClient, log: InstallOptions['log']): Promise<void> {
  const { name, namespace } = object.metadata;
  const kind = resourceOf(object);
  // Without its operator, the kind does not exist.
  if (kind === kinds.PodMonitor && !(await isKnown(kube, kind))) return;
  const live = await kube.get(kind, name, namespace);
  if (!live || live.metadata.labels?.[managedByLabel] !== managedByValue) return;
  await deleteChild(kube, undefined, refOf(object));
  log(`deleted ${nameOf(object)}`);
}

/** All objects that {@link installPlatform} applies except the Secrets, whose values exist only in the cluster. Pure. */
export function installManifests(settings: PlatformSettings): KubeObject[] {
  const { namespace, environmentRoles, monitoring, access, stores, platform } = installation(settings);
  return [
    ...customResourceDefinitions,
    namespace,
    ...environmentRoles,
    ...monitoring,
    ...access,
    ...stores,
    ...platform,
  ];
}

function nameOf({ kind, metadata }: KubeObject): string {
  return `${kind} ${metadata.namespace === undefined ? '' : `${metadata.namespace}/`}${metadata.name}`;
}

/** Applies an object. Waits while a deletion of it is in progress. @throws InstallError when it belongs to someone else */
async function applyOwn(
  object: KubeObject,
  keep: (live: KubeObject, next: KubeObject) => KubeObject,
  { kube, clock, deadline }: WaitOptions,
): Promise<Applied> {
  for (;;) {
    try {
      return await applyObject(kube, object, { keep });
    } catch (error) {
      if (error instanceof ForeignObjectError) {
        throw new InstallError(error.message, 'Then run the same command again.', { cause: error });
      }
      if (!(error instanceof NotYetError)) throw error;
      if (clock.monotonic() > deadline)
        throw new InstallError(`${error.message}.`, 'Run the same command again later.', { reason: 'timeout' });
      await clock.sleep(pauseMs);
    }
  }
}
