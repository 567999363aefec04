import type { Logger } from 'pino';
import type { Stored } from '../../runtime/contracts/kubernetes.ts';
import type { App } from '../../runtime/contracts/resources/app.ts';
import { kinds } from '../../runtime/contracts/resources/kinds.ts';
import { generateWebhookToken } from '../../runtime/domain/api-key.ts';
import type { Id } from '../../runtime/domain/ids.ts';
import { seal, unseal, type KeyRing } from '../../runtime/domain/sealed.ts';
import { changeOwnedSecret, type Secret } from '../../runtime/host/owned-secret.ts';
import { workloadIdOf } from '../../runtime/host/workload-objects.ts';
import { isKubeError, type KubeClient } from '../../runtime/kube/kube-client.ts';

/** Where a webhook's tokens lie: a Secret beside the app, owned by it, so that it goes with the app. */
export function webhookSecretName(app: string): string {
  return `app-${app}-webhook`;
}

const context = (workloadId: Id) => ({ id: workloadId, purpose: 'webhook-token' });
const keyOf = (version: number) => `v${version}`;
const versionOf = (key: string) => Number(/^v(\d+)$/.exec(key)?.[1] ?? 0);

/** Opened tokens that are remembered. */
const maxCached = 10_000;

export interface TokenStore {
  /** A token that was read before. One of a version never changes; whether it counts still is not known here. */
  cached(workloadId: Id, version: number): string | undefined;
  /**
   * The tokens of some versions in their order, read from the cluster; undefined for one that was not sealed for this app
   * (or no app).
   */
  read(
    at: { namespace: string; app: string },
    webhook: { workloadId: Id | undefined; versions: readonly number[] },
  ): Promise<(string | undefined)[]>;
  /**
   * Writes a token under the next version, which counts only once the webhook's row says so; versions older than
   * `current` are dropped. @throws Problem `conflict`, `already_exists` over a Secret that is not the platform's
   */
  write(app: Stored<App>, token: string, current: number): Promise<number>;
}

/** Tokens of webhooks, encrypted at rest in Secrets of the cluster (spec.md §2.3). */
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
  const opened = new Map<string, string>();
  const remember = (workloadId: Id, version: number, token: string) => {
    const oldest = opened.keys().next();
    if (opened.size >= maxCached && !oldest.done) opened.delete(oldest.value);
    opened.set(`${workloadId}/${version}`, token);
  };

  const open = (
    at: { namespace: string; app: string },
    secret: Secret | undefined,
    id: Id | undefined,
    version: number,
  ) => {
    const stored = secret?.data?.[keyOf(version)];
    const sealed = stored === undefined ? undefined : Buffer.from(stored, 'base64').toString('utf8');
    // The same work with and without a token: time does not tell which apps have one.
    const chosen = sealed === undefined || id === undefined ? decoy : { id, sealed };
    try {
      const token = unseal(keyRing, context(chosen.id), chosen.sealed);
      if (chosen === decoy) return undefined;
      remember(chosen.id, version, token);
      return token;
    } catch (error) {
      log.error({ err: error, ...at, version }, 'a webhook token cannot be opened');
      return undefined;
    }
  };

  return {
    cached: (workloadId, version) => opened.get(`${workloadId}/${version}`),
    async read({ namespace, app }, { workloadId, versions }) {
      const secret = await find(kube, namespace, app);
      return versions.map((version) => open({ namespace, app }, secret, workloadId, version));
    },
    async write(app, token, current) {
      const workloadId = workloadIdOf(app);
      let version = 0;
      await changeOwnedSecret(kube, app, webhookSecretName(app.metadata.name), (data) => {
        const old = Object.entries(data);
        version = Math.max(current, ...old.map(([key]) => versionOf(key))) + 1;
        const sealed = Buffer.from(seal(keyRing, context(workloadId), token)).toString('base64');
        const kept = Object.fromEntries(old.filter(([key]) => versionOf(key) >= current));
        return { ...kept, [keyOf(version)]: sealed };
      });
      return version;
    },
  };
}

/** What may not be read counts as missing: namespaces of others are forbidden rather than empty. */
async function find(kube: KubeClient, namespace: string, app: string): Promise<Stored<Secret> | undefined> {
  try {
    return await kube.get<Secret>(kinds.Secret, webhookSecretName(app), namespace);
  } catch (error) {
    if (isKubeError(error, 403) || isKubeError(error, 404)) return undefined;
    throw error;
  }
}
