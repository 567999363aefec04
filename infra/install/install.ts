import type { KubeObject, Stored } from '../../runtime/contracts/kubernetes.ts';
import { kinds } from '../../runtime/contracts/resources/kinds.ts';
import {
  checkPlatformConfig,
  faultsText,
  newestGoodSettings,
  settingsInForce,
} from '../../runtime/contracts/resources/platform-config-check.ts';
import { platformConfigName, type PlatformConfig } from '../../runtime/contracts/resources/platform-config.ts';
import type { Clock } from '../../runtime/domain/clock.ts';
import { managedByLabel, managedByValue, systemNamespace } from '../../runtime/domain/labels.ts';
import { applyObject, deleteChild, ForeignObjectError, NotYetError, refOf } from '../../runtime/kube/children.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import { resourceOf } from '../../runtime/kube/resource-paths.ts';
import { customResourceDefinitions } from '../crds/custom-resources.ts';
import { installation, optionalManifests, platformConfigOf } from '../manifests/platform/installation.ts';
import { systemSecrets, type SecretName } from '../manifests/platform/secrets.ts';
import type { PlatformSettings } from '../manifests/platform/settings.ts';
import { findIngressAddress } from './ingress-address.ts';
import { InstallError } from './install-error.ts';
import { withKept } from './kept-settings.ts';
import { checkPrerequisites, isKnown } from './prerequisites.ts';
import { pauseMs, untilEstablished, untilReady, type Waiting } from './readiness.ts';
import { ensureSecret } from './secrets.ts';

export type Applied = 'created' | 'updated' | 'unchanged';

export interface InstallOptions {
  kube: KubeClient;
  clock: Clock;
  /** For all of it. */
  timeoutMs: number;
  /** One line of progress. */
  log: (line: string) => void;
}

/** What an installation did, by object. */
export type InstallReport = Record<Applied, string[]>;

/**
 * Installs the platform, or brings an installation to these settings; run again with the same ones it changes nothing.
 * @throws InstallError that says what to do, when the cluster lacks something, holds a foreign object where one of the
 * platform's belongs, or does not come up in time
 */
export async function installPlatform(asked: PlatformSettings, options: InstallOptions): Promise<InstallReport> {
  const { kube, clock, log } = options;
  const deadline = clock.monotonic() + options.timeoutMs;
  const waiting = { kube, clock, deadline, log };
  const report: InstallReport = { created: [], updated: [], unchanged: [] };
  const note = (object: string, applied: Applied) => {
    report[applied].push(object);
    if (applied !== 'unchanged') log(`${applied} ${object}`);
  };
  await checkPrerequisites(kube, asked);
  const live = await kube.get<PlatformConfig>(kinds.PlatformConfig, platformConfigName);
  const wanted = await withIngress(asked, live, { kube, log });
  const settings = withStored(wanted, live);
  const keep = (live: KubeObject, next: KubeObject) =>
    next.kind === 'PlatformConfig' ? { ...next, spec: platformConfigOf(withKept(wanted, live)) } : next;
  const apply = async (object: KubeObject) => note(nameOf(object), await applyOwn(object, keep, waiting));

  for (const definition of customResourceDefinitions) await apply(definition);
  await untilEstablished(
    customResourceDefinitions.map(({ metadata }) => metadata.name),
    waiting,
  );
  const { namespace, access, stores, platform } = installation(settings);
  await apply(namespace);
  for (const secret of Object.keys(systemSecrets) as SecretName[]) {
    note(`Secret ${systemNamespace}/${systemSecrets[secret].name}`, await ensureSecret(kube, secret));
  }
  for (const object of [...access, ...stores, ...platform]) await apply(object);
  const made = new Set(platform.map(nameOf));
  for (const object of optionalManifests(settings)) if (!made.has(nameOf(object))) await removeOwn(object, kube, log);
  if (report.created.length + report.updated.length === 0) log('unchanged');
  await untilReady(
    [...stores, ...platform].filter(({ kind }) => /^(Deployment|StatefulSet)$/.test(kind)).map((o) => o.metadata.name),
    waiting,
  );
  return report;
}

/** The settings with the ingress's address: the one given, the one found, or the one that the installation has. */
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
    `warning: no Service of Traefik with the port ${settings.entryPoints.join(' or ')} was found: gates of apps will stay "applying" until --ingress-address tells where the ingress answers inside the cluster`,
  );
  return settings;
}

/**
 * The settings with those that the installation has beside them, and that were not asked for.
 * @throws InstallError when they cannot come into force, before anything was changed
 */
function withStored(asked: PlatformSettings, live: Stored<PlatformConfig> | undefined): PlatformSettings {
  const settings = withKept(asked, live);
  const checked = checkPlatformConfig(platformConfigOf(settings), settingsInForce(live));
  if ('spec' in checked) return settings;
  throw new InstallError(
    `The settings are not valid: ${faultsText(checked.faults)}.`,
    checked.faults.some(({ path }) => path === 'appsDomain' || path === 'cluster')
      ? 'To move every host that apps and functions have by default, delete the settings first, and set again what shall stay: `kubectl delete platformconfig platform`.'
      : 'Nothing was changed.',
  );
}

/** Takes away what an installation with other settings made. */
async function removeOwn(object: KubeObject, kube: KubeClient, log: InstallOptions['log']): Promise<void> {
  const { name, namespace } = object.metadata;
  const kind = resourceOf(object);
  // An operator's kind is not there without it.
  if (kind === kinds.PodMonitor && !(await isKnown(kube, kind))) return;
  const live = await kube.get(kind, name, namespace);
  if (!live || live.metadata.labels?.[managedByLabel] !== managedByValue) return;
  await deleteChild(kube, undefined, refOf(object));
  log(`deleted ${nameOf(object)}`);
}

/** Everything that {@link installPlatform} applies but the Secrets, whose values exist in the cluster only. Pure. */
export function installManifests(settings: PlatformSettings): KubeObject[] {
  const { namespace, access, stores, platform } = installation(settings);
  return [...customResourceDefinitions, namespace, ...access, ...stores, ...platform];
}

function nameOf({ kind, metadata }: KubeObject): string {
  return `${kind} ${metadata.namespace === undefined ? '' : `${metadata.namespace}/`}${metadata.name}`;
}

/** What an earlier `delete` still takes away is waited for; what belongs to others is left alone. */
async function applyOwn(
  object: KubeObject,
  keep: (live: KubeObject, next: KubeObject) => KubeObject,
  { kube, clock, deadline }: Waiting,
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
        throw new InstallError(`${error.message}.`, 'Run the same command again later.');
      await clock.sleep(pauseMs);
    }
  }
}
