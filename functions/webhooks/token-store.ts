import type { Logger } from 'pino';
import type { Stored } from '../../runtime/contracts/kubernetes.ts';
import type { App } from '../../runtime/contracts/resources/app.ts';
import { kinds } from '../../runtime/contracts/resources/kinds.ts';
import { generateWebhookToken } from '../../runtime/domain/api-key.ts';
import type { Id } from '../../runtime/domain/ids.ts';
import { seal, unseal, type KeyRing } from '../../runtime/domain/sealed.ts';
import { changeOwnedSecret, type Secret } from '../../runtime/workloads/owned-secret.ts';
import { workloadIdOf } from '../../runtime/workloads/objects.ts';
import { isKubeError, type KubeClient } from '../../runtime/kube/kube-client.ts';

/** The Secret with a webhook's tokens. The app owns it, so that it is deleted with the app. */
export function webhookSecretName(app: string): string {
  return `app-${app}-webhook`;
}

const context = (workloadId: Id) => ({ id: workloadId, purpose: 'webhook-token' });
const keyOf = (version: number) => `v${version}`;
const versionOf = (key: string) => Number(/^v(\d+)$/.exec(key)?.[1] ?? 0);

/** Maximum number of decrypted tokens in memory. */
const maxCached = 10_000;

export interface TokenStore {
  /** A token that was read before. The token of a version never changes; whether it is still valid is not known here. */
  cached(workloadId: Id, version: number): string | undefined;
  /**
   * Reads the tokens of versions, in their order; undefined for a version that does not exist or was not sealed for this
   * app.
   */
  read(
    at: { namespace: string; app: string },
    webhook: { workloadId: Id | undefined; versions: readonly number[] },
  ): Promise<(string | undefined)[]>;
  /**
   * Writes a token under the next version, which is valid once the webhook's row contains that version. Versions older than
   * `current` are deleted. @throws Problem `conflict`, `already_exists` for a Secret that the platform does not own
   */
  write(app: Stored<App>, token: string, current: number): Promise<number>;
}

/** Webhook tokens, encrypted at rest in Secrets (docs/reference/webhook.md#token). */
export function createTokenStore({
  kube,
  keyRing,
  log,
}: {
  kube: KubeClient;
  keyRing: KeyRing;
  log: Logger;
}): TokenStore {
  const decoy = { id: 'decoy', sealed: seal(keyRing, context('decoy'), generateWebhookToken()) };
  const cache = new Map<string, string>();
  const cacheToken = (workloadId: Id, version: number, token: string) => {
    const oldest = cache.keys().next();
    if (cache.size >= maxCached && !oldest.done) cache.delete(oldest.value);
    cache.set(`${workloadId}/${version}`, token);
  };

  const open = (
    at: { namespace: string; app: string },
    secret: Secret | undefined,
    id: Id | undefined,
    version: number,
  ) => {
    const stored = secret?.data?.[keyOf(version)];
    const sealed = stored === undefined ? undefined : Buffer.from(stored, 'base64').toString('utf8');
    // The same work with and without a token, so that the duration does not show which apps have one.
    const candidate = sealed === undefined || id === undefined ? decoy : { id, sealed };
    try {
      const token = unseal(keyRing, context(candidate.id), candidate.sealed);
      if (candidate === decoy) return undefined;
      cacheToken(candidate.id, version, token);
      return token;
    } catch (error) {
      log.error({ err: error, ...at, version }, 'cannot decrypt a webhook token');
      return undefined;
    }
  };

  return {
    cached: (workloadId, version) => cache.get(`${workloadId}/${version}`),
    async read({ namespace, app }, { workloadId, versions }) {
      const secret = await find(kube, namespace, app);
      return versions.map((version) => open({ namespace, app }, secret, workloadId, version));
    },
    async write(app, token, current) {
      const workloadId = workloadIdOf(app);
      let version = 0;
      await changeOwnedSecret(kube, app, webhookSecretName(app.metadata.name), (data) => {
        const entries = Object.entries(data);
        version = Math.max(current, ...entries.map(([key]) => versionOf(key))) + 1;
        const sealed = Buffer.from(seal(keyRing, context(workloadId), token)).toString('base64');
        const remaining = Object.fromEntries(entries.filter(([key]) => versionOf(key) >= current));
        return { ...remaining, [keyOf(version)]: sealed };
      });
      return version;
    },
  };
}

/** A Secret that may not be read counts as missing: in namespaces outside projects, reading is forbidden. */
async function find(kube: KubeClient, namespace: string, app: string): Promise<Stored<Secret> | undefined> {
  try {
    return await kube.get<Secret>(kinds.Secret, webhookSecretName(app), namespace);
  } catch (error) {
    if (isKubeError(error, 403) || isKubeError(error, 404)) return undefined;
    throw error;
  }
}
