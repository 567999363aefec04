import { setTimeout as wait } from 'node:timers/promises';
import { Pool } from 'undici';
import type { KubeClient } from '../../../runtime/kube/kube-client.ts';
import { kinds } from '../../../runtime/contracts/resources/kinds.ts';
import type { App } from '../../../runtime/contracts/resources/app.ts';
import type { Platform } from '../../support/platform.ts';
import { createWorkloads } from '../controllers/workloads.ts';

/** An app whose webhook a bench calls. */
export interface Target {
  app: string;
  url: string;
  token: string;
  /** The parts of the URL, parsed once because the caller shares its cores with the measured platform. */
  address: Pick<URL, 'pathname' | 'host'>;
}

/** Apps without pods and their webhooks, so that only the platform is measured. */
export async function createTargets(
  platform: Platform,
  kube: KubeClient,
  project: string,
  count: number,
): Promise<Target[]> {
  await createWorkloads(kube, project, { functions: 0, apps: count });
  const namespace = `${project}-prod`;
  for (;;) {
    const { items } = await kube.list<App>(kinds.App, { namespace });
    if (items.every(({ status }) => status?.observedGeneration !== undefined)) break;
    await wait(500);
  }
  const targets: Target[] = [];
  for (let number = 0; number < count; number++) {
    const app = `a${number}`;
    const flags = ['--project', project, '--environment', 'prod'];
    targets.push({ app, ...(await enableWebhook(platform, app, flags)) });
  }
  return targets;
}

/** Enables the webhook of an app. */
export async function enableWebhook(platform: Platform, app: string, flags: string[]): Promise<Omit<Target, 'app'>> {
  const { url, token } = await platform.json<Omit<Target, 'app'>>(['app', 'webhook', 'enable', app, ...flags]);
  const { pathname, host } = new URL(url);
  return { url, token, address: { pathname, host } };
}

/** The answer to a caller. */
export interface Call {
  ms: number;
  status: number;
  id: string | undefined;
}

/** Calls webhooks through the ingress, over kept connections. */
export function createCaller(ingress: string, connections: number) {
  const pool = new Pool(ingress, { connections, pipelining: 1 });
  return {
    async deploy({ address: { pathname, host }, token }: Target, image: string): Promise<Call> {
      const startedAt = performance.now();
      const answer = await pool.request({
        path: pathname,
        method: 'POST',
        body: JSON.stringify({ image }),
        headers: { host, 'content-type': 'application/json', 'x-svc-token': token },
      });
      const body = (await answer.body.json()) as { id?: string };
      return { ms: performance.now() - startedAt, status: answer.statusCode, id: body.id };
    },
    close: () => pool.close(),
  };
}

export type Caller = ReturnType<typeof createCaller>;
