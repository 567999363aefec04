import type { KubeObject } from '../../runtime/contracts/kubernetes.ts';
import type { Clock } from '../../runtime/domain/clock.ts';
import { systemNamespace } from '../../runtime/domain/labels.ts';
import { applyObject, ForeignObjectError, NotYetError } from '../../runtime/kube/children.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import { customResourceDefinitions } from '../crds/custom-resources.ts';
import { installation } from '../manifests/platform/installation.ts';
import { systemSecrets, type SecretName } from '../manifests/platform/secrets.ts';
import type { PlatformSettings } from '../manifests/platform/settings.ts';
import { InstallError } from './install-error.ts';
import { checkPrerequisites } from './prerequisites.ts';
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
export async function installPlatform(settings: PlatformSettings, options: InstallOptions): Promise<InstallReport> {
  const { kube, clock, log } = options;
  const deadline = clock.monotonic() + options.timeoutMs;
  const waiting = { kube, clock, deadline, log };
  const report: InstallReport = { created: [], updated: [], unchanged: [] };
  const note = (object: string, applied: Applied) => {
    report[applied].push(object);
    if (applied !== 'unchanged') log(`${applied} ${object}`);
  };
  const apply = async (object: KubeObject) => note(nameOf(object), await applyOwn(object, waiting));

  await checkPrerequisites(kube);
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
  if (report.created.length + report.updated.length === 0) log('unchanged');
  await untilReady(
    [...stores, ...platform].filter(({ kind }) => /^(Deployment|StatefulSet)$/.test(kind)).map((o) => o.metadata.name),
    waiting,
  );
  return report;
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
async function applyOwn(object: KubeObject, { kube, clock, deadline }: Waiting): Promise<Applied> {
  for (;;) {
    try {
      return await applyObject(kube, object);
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
