import type { LookupFunction } from 'node:net';
import { assistantKeyContext } from '../domain/assistant.ts';
import { Problem } from '../domain/problem.ts';
import { unseal, type KeyRing } from '../domain/sealed.ts';
import type { KubeClient } from '../kube/kube-client.ts';
import type { AssistantProvider } from '../records/assistant.ts';
import { readSettingsIfAny } from '../workloads/platform-config.ts';
import type { Provider } from './provider-connection.ts';

/** What opens the stored settings of the provider. */
export interface ProviderAccess {
  keyRing: KeyRing;
  /** For the installation's CA certificates. */
  kube: Pick<KubeClient, 'get'>;
  /** Default: the system's resolver. */
  lookup?: LookupFunction | undefined;
  /** Default a minute. */
  silenceMs?: number | undefined;
}

/** The provider of the stored settings. @throws Problem `conflict` when its key cannot be opened */
export async function openProvider(
  { url, model, key: sealed, networks }: AssistantProvider,
  { keyRing, kube, lookup, silenceMs }: ProviderAccess,
): Promise<Provider> {
  const caCertificates = (await readSettingsIfAny(kube))?.caCertificates;
  let key: string | undefined;
  try {
    key = sealed === null ? undefined : unseal(keyRing, assistantKeyContext(url), sealed);
  } catch (cause) {
    const message = 'The key of the AI provider cannot be read. A platform admin has to set it again.';
    throw new Problem('conflict', message, { cause });
  }
  return { url, model, key, networks, caCertificates, lookup, silenceMs };
}
