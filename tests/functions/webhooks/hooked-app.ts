import { createHmac, randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { createAppRoutes } from '../../../functions/apps/handler.ts';
import { createHistoryRoutes } from '../../../functions/history/handler.ts';
import { createWebhookRoutes } from '../../../functions/webhooks/handler.ts';
import { createTokenStore } from '../../../functions/webhooks/token-store.ts';
import type { Clock } from '../../../runtime/domain/clock.ts';
import { acceptDeployment } from '../../../runtime/records/acceptance.ts';
import { projectGitSource } from '../../../runtime/records/git-sources.ts';
import { projectWorkload } from '../../../runtime/records/workloads.ts';
import type { WebhookRate } from '../../../functions/webhooks/rate-limit.ts';
import { testApi, type Answer } from '../../support/api.ts';
import { fakeClock } from '../../support/clock.ts';
import { fakeKube } from '../../support/fake-kube.ts';
import { silentLog } from '../../support/log.ts';
import { environmentId, seedShop } from '../../support/objects.ts';
import { testDatabase } from '../../support/postgres.ts';
import { webhookParts } from '../../support/webhooks.ts';

const apps = '/api/v1/projects/shop/apps';

export interface HookedAppOptions {
  image?: string;
  /** Whether its image was deployed before, which `history` leaves out; default false. */
  deployed?: boolean;
  /** The branch of the app's git source; without it the app runs images. */
  gitBranch?: string;
  /** Settings of its webhook. */
  webhook?: Record<string, unknown>;
  clock?: Clock;
  rate?: WebhookRate;
}

/** The app `api` of `shop-prod` with an enabled webhook, behind the routes for senders and users. */
export async function hookedApp(t: { teardown(end: () => unknown): void }, options: HookedAppOptions = {}) {
  const { image = 'registry.test/shop/api:v1', deployed = false, gitBranch, webhook, clock, rate } = options;
  const kube = fakeKube();
  seedShop(kube);
  const { pool, url } = await testDatabase(t);
  const keyRing = { current: 'k1', keys: new Map([['k1', randomBytes(32)]]) };
  const tokens = createTokenStore({ kube, keyRing, log: silentLog });
  const parts = webhookParts({ kube, pool, tokens, ...(clock && { clock }), ...(rate && { rate }) });
  t.teardown(() => parts.deployments.stop());
  const { baseUrl } = parts;
  const api = await testApi(t, {
    routes: [
      ...createAppRoutes({ kube, pool, clock: fakeClock(), baseUrl }),
      ...createWebhookRoutes(parts),
      ...createHistoryRoutes({ kube, pool, verifyToken: parts.verify, baseUrl }),
    ],
  });
  const created = await api.call('POST', apps, { body: { name: 'api', image } });
  const workloadId = created.body.id as string;
  await projectWorkload(pool, {
    id: workloadId,
    kind: 'App',
    environmentId,
    project: 'shop',
    environment: 'prod',
    namespace: 'shop-prod',
    name: 'api',
    gated: false,
  });
  // Does what the App controller does.
  if (gitBranch !== undefined) {
    await projectGitSource(pool, workloadId, { url: 'https://git.test/shop/api.git', branch: gitBranch });
  } else if (deployed) {
    await acceptDeployment(pool, { workloadId, trigger: 'manual', image });
  }
  const call = (method: string, below = '', body?: unknown) =>
    api.call(method, `${apps}/api/webhook${below}`, body === undefined ? {} : { body });
  const enabled = (await call('PUT', '', webhook ?? {})).body;

  /** As a sender: without a session. */
  const send = (headers: Record<string, string>, body: unknown, below = ''): Promise<Answer> =>
    api.call('POST', `/api/v1/webhook/shop-prod/api${below}`, { body, headers: { authorization: '', ...headers } });
  const history = async (): Promise<Json> => {
    const { items } = (await api.call('GET', `${apps}/api/history`)).body;
    return deployed ? items.slice(0, -1) : items;
  };
  const deliveries = async () => (await call('GET', '/deliveries')).body.items;
  const token = enabled.token as string;
  return { kube, pool, url, api, parts, workloadId, call, send, history, deliveries, enabled, token, baseUrl };
}

export type HookedApp = Awaited<ReturnType<typeof hookedApp>>;

/** A sender's example from the folder `payloads`, as the text that it sends. */
export function payload(name: string, change: (example: Json) => void = () => undefined): string {
  const example: Json = JSON.parse(readFileSync(join(import.meta.dirname, 'payloads', `${name}.json`), 'utf8'));
  change(example);
  return JSON.stringify(example);
}

// oxlint-disable-next-line typescript/no-explicit-any -- tests read payloads of every shape
export type Json = any;

const published = createRequire(import.meta.url)('@octokit/webhooks-examples') as { name: string; examples: Json[] }[];

/** GitHub's published examples of one event. */
export function githubExamples(event: string): Json[] {
  const examples = published.find(({ name }) => name === event)?.examples ?? [];
  if (examples.length === 0) throw new Error(`no examples of ${event}`);
  return examples.map((example) => structuredClone(example));
}

export const hexHmac = (token: string, text: string) => createHmac('sha256', token).update(text).digest('hex');
