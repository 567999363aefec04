import type { Logger } from 'pino';
import type { KubeObject, OwnerReference, Stored } from '../../runtime/contracts/kubernetes.ts';
import type { App } from '../../runtime/contracts/resources/app.ts';
import { kinds } from '../../runtime/contracts/resources/kinds.ts';
import { generateWebhookToken } from '../../runtime/domain/api-key.ts';
import type { Id } from '../../runtime/domain/ids.ts';
import { managedByLabel, managedByValue, workloadLabels } from '../../runtime/domain/labels.ts';
import { Problem } from '../../runtime/domain/problem.ts';
import { seal, unseal, type KeyRing } from '../../runtime/domain/sealed.ts';
import { workloadIdOf } from '../../runtime/host/workload-objects.ts';
import { isKubeError, type KubeClient } from '../../runtime/kube/kube-client.ts';

/** Where a webhook's tokens lie: a Secret beside the app, owned by it, so that it goes with the app. */
export function webhookSecretName(app: string): string {
  return `app-${app}-webhook`;
}

interface Secret extends KubeObject {
  type?: string;
  /** `v<version>` → base64 of the sealed token. */
  data?: Record<string, string>;
}

/** Others who regenerate the same token between read and write. */
const maxTries = 5;

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
      const { name, namespace = '' } = app.metadata;
      const workloadId = workloadIdOf(app);
      for (let attempt = 1; ; attempt++) {
        const found = await find(kube, namespace, name);
        if (found) checkOwned(found, app);
        const old = Object.entries(found?.data ?? {});
        const version = Math.max(current, ...old.map(([key]) => versionOf(key))) + 1;
        const sealed = Buffer.from(seal(keyRing, context(workloadId), token)).toString('base64');
        const kept = Object.fromEntries(old.filter(([key]) => versionOf(key) >= current));
        try {
          if (found) await kube.replace<Secret>({ ...found, data: { ...kept, [keyOf(version)]: sealed } });
          else await kube.create<Secret>(newSecret(app, workloadId, { [keyOf(version)]: sealed }));
          return version;
        } catch (error) {
          if (!isKubeError(error, 409) || attempt === maxTries) throw error;
        }
      }
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

function newSecret(app: Stored<App>, id: Id, data: Record<string, string>): Secret {
  const { apiVersion, kind, metadata } = app;
  const owner: OwnerReference = { apiVersion, kind, name: metadata.name, uid: metadata.uid, controller: true };
  return {
    apiVersion: kinds.Secret.apiVersion,
    kind: kinds.Secret.kind,
    metadata: {
      name: webhookSecretName(metadata.name),
      ...(metadata.namespace !== undefined && { namespace: metadata.namespace }),
      labels: workloadLabels({ kind: 'App', name: metadata.name, id }),
      ownerReferences: [owner],
    },
    type: 'Opaque',
    data,
  };
}

function checkOwned({ metadata }: Stored<Secret>, app: Stored<App>): void {
  const ours = metadata.labels?.[managedByLabel] === managedByValue;
  if (ours && metadata.ownerReferences?.some(({ uid }) => uid === app.metadata.uid)) return;
  throw ours
    ? new Problem(
        'not_ready',
        'The token of an earlier app of this name is still being removed; try again in a moment.',
      )
    : new Problem(
        'already_exists',
        `The Secret "${metadata.name}" exists and is not the platform's; rename or delete it, and enable the webhook again.`,
      );
}
