import { randomBytes } from 'node:crypto';
import type { KubeObject } from '../../runtime/contracts/kubernetes.ts';
import { kinds } from '../../runtime/contracts/resources/kinds.ts';
import { managedByLabel, managedByValue, systemNamespace } from '../../runtime/domain/labels.ts';
import { monitoringNamespace } from '../../runtime/domain/monitoring.ts';
import { applyObject } from '../../runtime/kube/children.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import { readSecretText } from '../../runtime/kube/secret-text.ts';
import { logStoreSecret, logStoreSecrets } from '../manifests/platform/log-store-secrets.ts';
import { systemSecrets } from '../manifests/platform/secrets.ts';
import { InstallError } from './install-error.ts';

/**
 * Applies the Secrets of the log store and its shipper. The token that reads is that of console-api and svc-workers; the other one is generated
 * once. Nothing depends on former values, so a Secret that lost one gets a new one.
 * @throws InstallError when one belongs to someone else
 */
export async function ensureLogStoreSecrets(
  kube: KubeClient,
  note: (object: string, applied: 'created' | 'updated' | 'unchanged') => void,
): Promise<void> {
  const { name, key } = systemSecrets.logStore;
  const read = await readSecretText(kube, { namespace: systemNamespace, name, key });
  if (read === undefined)
    throw new InstallError(`Secret ${systemNamespace}/${name} has no key "${key}".`, 'Delete it.');
  const live = { namespace: monitoringNamespace, name: logStoreSecret.name, key: logStoreSecret.appendKey };
  const append = (await readSecretText(kube, live)) ?? randomBytes(32).toString('base64url');
  for (const secret of logStoreSecrets({ append, read })) {
    const { namespace } = secret.metadata;
    const current = await kube.get(kinds.Secret, logStoreSecret.name, namespace);
    if (current && current.metadata.labels?.[managedByLabel] !== managedByValue) {
      throw new InstallError(
        `Secret ${namespace}/${logStoreSecret.name} exists, but svc did not create it.`,
        'Delete or rename it: svc stores the tokens of the log store under this name.',
      );
    }
    note(`Secret ${namespace}/${logStoreSecret.name}`, await applyObject<KubeObject>(kube, secret));
  }
}
