import type { Logger } from 'pino';
import { Counter, type Registry } from 'prom-client';
import { Problem } from '../../runtime/domain/problem.ts';
import { route, type Route, type RouteReply } from '../../runtime/host/route.ts';
import { readWebhookBody } from './body.ts';
import type { DeploymentEnds } from './ends.ts';
import { maskBody } from './mask.ts';
import { cleanNotice, cleanText, type Notice } from './notice.ts';
import type { RateLimit } from './rate-limit.ts';
import { deploymentReply } from './reply.ts';
import { deployWebhookSchema, secretUrlSchema } from './schema.ts';
import { secretUrlSenders, senderOf } from './senders/all.ts';
import { settle, type SettleDependencies, type Settled } from './settle.ts';
import { header, type Headers } from './signatures.ts';
import { areNames, type ProvenWebhook, type VerifySecretUrl, type VerifyWebhook } from './verify.ts';

export interface ReceiveDependencies extends SettleDependencies {
  verify: VerifyWebhook;
  verifySecretUrl: VerifySecretUrl;
  limit: RateLimit;
  ends: Pick<DeploymentEnds, 'wait'>;
  registry: Registry;
  /** The public address of the management API. */
  baseUrl: string;
}

/** What of a request is read once the body is known, and never before the proof. */
interface Form {
  sender: string;
  event: string | undefined;
  deliveryId: string | undefined;
  read(): Notice;
}

interface Received {
  at: { namespace: string; app: string };
  rawBody: Buffer;
  headers: Headers;
  log: Logger;
  signal: AbortSignal;
  waitSeconds: number;
}

/** The URLs that senders call (spec.md §4.3): with a proof of the token, or with a secret in the URL itself. */
export function createReceiveRoutes(dependencies: ReceiveDependencies): Route[] {
  const { pool, accept, verify, verifySecretUrl, limit, ends, registry, baseUrl } = dependencies;
  const requests = new Counter({
    name: 'webhook_requests_total',
    help: 'Requests to deploy webhooks, by sender and by what became of them.',
    labelNames: ['sender', 'verdict'],
    registers: [registry],
  });

  const proven = async (
    { at, log }: Pick<Received, 'at' | 'log'>,
    sender: string,
    prove: () => Promise<ProvenWebhook>,
  ): Promise<ProvenWebhook> => {
    try {
      return await prove();
    } catch (error) {
      if (error instanceof Problem && error.code === 'invalid_webhook_token') {
        requests.inc({ sender, verdict: 'unauthenticated' });
        log.info({ ...(areNames(at) && at), sender }, 'webhook refused');
      }
      throw error;
    }
  };

  const take = async (
    { at, rawBody, headers, log, signal, waitSeconds }: Received,
    { receiver, proof, token }: ProvenWebhook,
    formOf: (body: unknown) => Form,
  ): Promise<RouteReply> => {
    let parsed: unknown;
    let unreadable: unknown;
    try {
      parsed = readWebhookBody(rawBody, header(headers, 'content-type'));
    } catch (error) {
      unreadable = error;
    }
    const form = formOf(parsed);
    const { sender } = form;
    const retryAfterSeconds = limit.take(receiver.workloadId);
    if (retryAfterSeconds > 0) {
      requests.inc({ sender, verdict: 'limited' });
      log.info({ ...at, sender }, 'webhook limited');
      // Not in the delivery log: what is written for each would be what the limit is against.
      throw new Problem('too_many_requests', `Too many requests for this app; wait ${retryAfterSeconds} s.`, {
        details: { retryAfterSeconds },
      });
    }
    const secrets = token === undefined ? [] : [token];
    const incoming = {
      ...{ ...at, receiver, proof, sender },
      event: form.event === undefined ? undefined : cleanText(form.event, secrets),
      deliveryId: form.deliveryId === undefined ? undefined : cleanText(form.deliveryId, secrets),
      body: maskBody(rawBody, parsed, secrets),
      bodyBytes: rawBody.length,
    };
    let settled: Settled;
    try {
      settled = await settle({ pool, accept }, incoming, () => {
        if (unreadable !== undefined) throw unreadable;
        return cleanNotice(form.read(), secrets);
      });
    } catch (error) {
      if (error instanceof Problem) requests.inc({ sender, verdict: 'refused' });
      throw error;
    }
    const { verdict, delivery } = settled;
    requests.inc({ sender, verdict });
    if (settled.verdict === 'ignored') {
      const { reason } = settled;
      log.info({ ...at, sender, delivery, reason }, 'webhook ignored');
      return { status: 200, body: { status: 'ignored', reason } };
    }
    const { id, revision, state } = settled.deployment;
    // In the line of the request itself: a second one costs as much as all the rest that is no statement.
    log.setBindings({ ...at, sender, verdict, delivery, deploymentId: id, revision });
    const statusUrl = `${baseUrl}/api/v1/projects/${receiver.project}/deployments/${id}`;
    const found = waitSeconds > 0 ? await ends.wait(id, waitSeconds * 1_000, signal) : undefined;
    const told = found ?? { id, revision, state, reason: settled.reason };
    return deploymentReply(told, { statusUrl, waited: waitSeconds > 0 });
  };

  return [
    route({
      ...deployWebhookSchema,
      method: 'POST',
      path: '/webhook/:namespace/:app',
      access: 'webhook',
      tag: 'webhooks',
      summary:
        'Deploys an image or a commit; the answer names where the deployment’s status can be read, or with `wait` how it ended.',
      async handle({ params: { namespace, app }, query, headers, rawBody, log, signal }) {
        const at = { namespace, app };
        const sender = senderOf(headers);
        const webhook = await proven({ at, log }, sender.name, () => verify({ ...at, headers, rawBody }));
        const received = { at, rawBody, headers, log, signal, waitSeconds: query.wait ?? 0 };
        // Only now is the body looked at: an answer about it would tell that the app exists.
        return take(received, webhook, (body) => {
          const event = sender.event(headers, body);
          return {
            ...{ sender: sender.name, event },
            deliveryId: header(headers, 'idempotency-key') ?? sender.deliveryId(headers, body),
            read: () => sender.read(event, body),
          };
        });
      },
    }),
    route({
      ...secretUrlSchema,
      method: 'POST',
      path: '/webhook/:namespace/:app/:secret',
      access: 'webhook',
      tag: 'webhooks',
      summary: 'Deploys what a registry tells of that signs nothing (Docker Hub, Quay): the last part is the proof.',
      async handle({ params: { namespace, app, secret }, headers, rawBody, log, signal }) {
        const at = { namespace, app };
        const webhook = await proven({ at, log }, 'secret-url', () => verifySecretUrl({ ...at, secret }));
        return take({ at, rawBody, headers, log, signal, waitSeconds: 0 }, webhook, secretUrlForm);
      },
    }),
  ];
}

function secretUrlForm(body: unknown): Form {
  for (const sender of secretUrlSenders) {
    const { name } = sender;
    const notice = sender.read(body);
    if (notice) return { sender: name, event: 'push', deliveryId: undefined, read: () => notice };
  }
  return {
    ...{ sender: 'secret-url', event: undefined, deliveryId: undefined },
    read() {
      throw new Problem('invalid_request', 'The secret URL is for Docker Hub and Quay; others prove the token.');
    },
  };
}
