import type { Logger } from 'pino';
import { Counter, type Registry } from 'prom-client';
import { Problem } from '../../runtime/domain/problem.ts';
import { route, type LateReply, type Route, type RouteReply } from '../../runtime/http/route.ts';
import { readWebhookBody } from './body.ts';
import type { DeploymentWaiter } from './deployment-completion.ts';
import { cleanEvent, cleanText, type WebhookEvent } from './event.ts';
import { identityOf, type DeliveryIdentity } from './identity.ts';
import { maskBody } from './mask.ts';
import type { RateLimit } from './rate-limit.ts';
import { deploymentReply } from './reply.ts';
import { deployWebhookSchema, secretUrlSchema } from './schema.ts';
import { secretUrlSenders, senderOf } from './senders/all.ts';
import type { HandleDelivery, DeliveryOutcome } from './delivery-handler.ts';
import { header, type Headers } from './signatures.ts';
import { areValidNames, type VerifiedWebhook, type VerifySecretUrl, type VerifyWebhook } from './verify.ts';

export interface ReceiveDependencies {
  verify: VerifyWebhook;
  verifySecretUrl: VerifySecretUrl;
  limit: RateLimit;
  handleDelivery: HandleDelivery;
  deployments: Pick<DeploymentWaiter, 'wait'>;
  registry: Registry;
  /** The public address of the management API. */
  baseUrl: string;
}

/** The data that a sender's module reads from a request's headers and body. */
interface SenderRequest {
  sender: string;
  event: string | undefined;
  ids?: DeliveryIdentity;
  read: () => WebhookEvent;
}

interface ReceivedRequest {
  at: { namespace: string; app: string };
  rawBody: Buffer;
  headers: Headers;
  log: Logger;
  signal: AbortSignal;
  waitSeconds: number;
}

/**
 * The URLs that senders call (docs/reference/webhook.md#request). A request is verified before its body is parsed: a
 * response about the body would show that the app exists.
 */
export function createReceiveRoutes(dependencies: ReceiveDependencies): Route[] {
  const { verify, verifySecretUrl, limit, handleDelivery, deployments, registry, baseUrl } = dependencies;
  const requests = new Counter({
    name: 'webhook_requests_total',
    help: 'Requests to deploy webhooks, by sender and verdict.',
    labelNames: ['sender', 'verdict'],
    registers: [registry],
  });

  const verified = async (
    { at, log }: Pick<ReceivedRequest, 'at' | 'log'>,
    sender: string,
    verification: Promise<VerifiedWebhook>,
  ): Promise<VerifiedWebhook> => {
    try {
      return await verification;
    } catch (error) {
      if (error instanceof Problem && error.code === 'invalid_webhook_token') {
        requests.inc({ sender, verdict: 'unauthenticated' });
        log.info({ ...(areValidNames(at) && at), sender }, 'webhook request not authenticated');
      }
      throw error;
    }
  };

  const checkRate = ({ at, log }: ReceivedRequest, { receiver }: VerifiedWebhook, sender: string): void => {
    const retryAfterSeconds = limit.take(receiver.workloadId);
    if (retryAfterSeconds === 0) return;
    requests.inc({ sender, verdict: 'limited' });
    log.info({ ...at, sender }, 'webhook request rate limited');
    // Not in the delivery log: the limit exists to save that write.
    throw new Problem(
      'too_many_requests',
      `Too many webhook requests for this app. Try again in ${retryAfterSeconds} seconds.`,
      { details: { retryAfterSeconds } },
    );
  };

  const receive = async (
    request: ReceivedRequest,
    webhook: VerifiedWebhook,
    senderRequest: (body: unknown) => SenderRequest,
  ): Promise<RouteReply | LateReply> => {
    const { at, rawBody, headers, log } = request;
    const parsed = parsedBody(rawBody, headers);
    const { sender, event, ids, read } = senderRequest(parsed.body);
    checkRate(request, webhook, sender);
    const { receiver, proof, token } = webhook;
    const secrets = token === undefined ? [] : [token];
    const clean = (text: string | undefined) => (text === undefined ? undefined : cleanText(text, secrets));
    const incoming = {
      ...at,
      receiver,
      proof,
      sender,
      event: clean(event),
      deliveryId: clean(ids?.deliveryId),
      identity: clean(ids?.identity),
      body: maskBody(rawBody, parsed.body, secrets),
      bodyBytes: rawBody.length,
    };
    const outcome = await handleDelivery(incoming, () => {
      if (parsed.error !== undefined) throw parsed.error;
      return cleanEvent(read(), secrets);
    }).catch((error: unknown) => {
      if (error instanceof Problem) requests.inc({ sender, verdict: 'refused' });
      throw error;
    });
    const { verdict, delivery, reason } = outcome;
    requests.inc({ sender, verdict });
    // Part of the request's own log line: a second line would cost as much as the rest of the handler without its SQL.
    const deployment =
      outcome.verdict === 'ignored'
        ? { reason }
        : { deploymentId: outcome.deployment.id, revision: outcome.deployment.revision };
    log.setBindings({ ...at, sender, verdict, delivery, ...deployment });
    return replyTo({ signal: request.signal, waitSeconds: request.waitSeconds }, receiver, outcome);
  };

  const replyTo = (
    { signal, waitSeconds }: Pick<ReceivedRequest, 'signal' | 'waitSeconds'>,
    { project, workloadId }: VerifiedWebhook['receiver'],
    outcome: DeliveryOutcome,
  ): RouteReply | LateReply => {
    if (outcome.verdict === 'ignored') return { status: 200, body: { status: 'ignored', reason: outcome.reason } };
    const { id, revision, state } = outcome.deployment;
    const statusUrl = `${baseUrl}/api/v1/projects/${project}/deployments/${id}`;
    const accepted = { id, revision, state, reason: outcome.reason };
    if (waitSeconds === 0) return deploymentReply(accepted, { statusUrl, waited: false });
    return async () => {
      const current = await deployments.wait(id, { workloadId, ms: waitSeconds * 1_000, signal });
      return deploymentReply(current ?? accepted, { statusUrl, waited: true });
    };
  };

  return [
    route({
      ...deployWebhookSchema,
      method: 'POST',
      path: '/webhook/:namespace/:app',
      access: 'webhook',
      tag: 'webhooks',
      summary: 'Deploys an image or a commit. Replies with the deployment’s status URL or, with `wait`, its outcome.',
      async handle({ params: at, query, headers, rawBody, log, signal }) {
        const sender = senderOf(headers);
        const webhook = await verified({ at, log }, sender.name, verify({ ...at, headers, rawBody }));
        const request = { at, rawBody, headers, log, signal, waitSeconds: query.wait ?? 0 };
        return receive(request, webhook, (body) => {
          const event = sender.event(headers, body);
          return {
            sender: sender.name,
            event,
            ids: identityOf(sender, { headers, rawBody, body }),
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
      summary: 'Deploys an image from a registry that cannot sign requests (Docker Hub, Quay), with a secret URL.',
      async handle({ params: { secret, ...at }, headers, rawBody, log, signal }) {
        const webhook = await verified({ at, log }, 'secret-url', verifySecretUrl({ ...at, secret }));
        return receive({ at, rawBody, headers, log, signal, waitSeconds: 0 }, webhook, secretUrlRequest);
      },
    }),
  ];
}

function parsedBody(rawBody: Buffer, headers: Headers): { body?: unknown; error?: unknown } {
  try {
    return { body: readWebhookBody(rawBody, header(headers, 'content-type')) };
  } catch (error) {
    return { error };
  }
}

function secretUrlRequest(body: unknown): SenderRequest {
  for (const registry of secretUrlSenders) {
    const event = registry.read(body);
    if (event) return { sender: registry.name, event: 'push', read: () => event };
  }
  return {
    sender: 'secret-url',
    event: undefined,
    read() {
      throw new Problem(
        'invalid_request',
        'The secret URL accepts only events of Docker Hub and Quay. Other senders must use the webhook token.',
      );
    },
  };
}
