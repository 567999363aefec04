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

export interface TokenStore {
  /** The token of one version, or undefined when there is none that was sealed for this app (or no app). */
  read(
    at: { namespace: string; app: string },
    webhook: { workloadId: Id | undefined; version: number },
  ): Promise<string | undefined>;
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
  return {
    async read({ namespace, app }, { workloadId, version }) {
      const secret = await find(kube, namespace, app);
      const stored = secret?.data?.[keyOf(version)];
      const sealed = stored === undefined ? undefined : Buffer.from(stored, 'base64').toString('utf8');
      // The same work with and without a token: time does not tell which apps have one.
      const opened = sealed === undefined || workloadId === undefined ? decoy : { id: workloadId, sealed };
      try {
        const token = unseal(keyRing, context(opened.id), opened.sealed);
        return opened === decoy ? undefined : token;
      } catch (error) {
        log.error({ err: error, namespace, app, version }, 'a webhook token cannot be opened');
        return undefined;
      }
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
