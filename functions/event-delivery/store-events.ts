import type { IncomingMessage } from 'node:http';
import type { Pool } from 'pg';
import type { Logger } from 'pino';
import { storeEventsPath } from '../../runtime/contracts/event-exchange.ts';
import { kinds } from '../../runtime/contracts/resources/kinds.ts';
import { eventsTokenField, eventsTokenName, type ServiceResource } from '../../runtime/contracts/resources/service.ts';
import { noticesOf, storeEvents } from '../../runtime/contracts/store-events.ts';
import type { Clock } from '../../runtime/domain/clock.ts';
import { Problem, type ProblemCode } from '../../runtime/domain/problem.ts';
import { equalInConstantTime } from '../../runtime/domain/constant-time.ts';
import type { BodyMemory } from '../../runtime/http/body-memory.ts';
import { largeBodyLimit, parseJson, readBody } from '../../runtime/http/body.ts';
import { isOwned, type Secret } from '../../runtime/workloads/owned-secret.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import { storeNotices } from '../../runtime/records/bucket-notices.ts';
import { createTokenCache } from './token-cache.ts';

export interface StoreEventsDependencies {
  kube: Pick<KubeClient, 'get'>;
  pool: Pool;
  clock: Clock;
  log: Logger;
  /** Shared with the process's other servers. */
  bodies: BodyMemory;
}

/** Refusals after which the store sends its message again. */
const temporary: ReadonlySet<ProblemCode> = new Set(['overloaded', 'too_many_requests', 'request_timeout']);
const paths = new RegExp(`^${storeEventsPath('([a-z0-9-]{1,63})', '([a-z0-9-]{1,63})')}$`);

/**
 * Records the bucket events that a managed object store reports. The path names the service, and the store's own token
 * authenticates it. A store retries a rejected message before all others, so a message that cannot be parsed is accepted
 * too: the next listing of the bucket finds its changes.
 * @returns undefined for other paths
 */
export function createStoreEvents({ kube, pool, clock, log, bodies }: StoreEventsDependencies) {
  const identify = createTokenCache(
    { clock },
    {
      refusal: 'Only an object store can report events of its buckets, with its own token.',
      async review(token, path) {
        const [, namespace = '', service = ''] = paths.exec(path) ?? [];
        const owner = await kube.get<ServiceResource>(kinds.ServiceResource, service, namespace);
        if (!owner || owner.spec.external) return undefined;
        const secret = await kube.get<Secret>(kinds.Secret, eventsTokenName(service), namespace);
        if (!secret || !isOwned(secret, owner)) return undefined;
        const stored = Buffer.from(secret.data?.[eventsTokenField] ?? '', 'base64').toString('utf8');
        return equalInConstantTime(token, stored) && stored !== '' ? { namespace, service } : undefined;
      },
    },
  );

  return async (request: IncomingMessage): Promise<Record<string, never> | undefined> => {
    const { url = '', headers } = request;
    if (!paths.test(url)) return undefined;
    if (request.method !== 'POST') throw new Problem('method_not_allowed', 'Use POST to report events of a bucket.');
    const store = await identify(headers.authorization, url);
    const place = bodies.place({ name: `${store.namespace}/${store.service}`, isKnown: true });
    try {
      const body = parseJson(storeEvents, await readBody(request, place, largeBodyLimit), headers['content-type']);
      await storeNotices(pool, store, noticesOf(body));
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      if (temporary.has(error.code)) throw error;
      log.warn({ ...store, reason: error.message }, 'cannot parse the events of a bucket');
    } finally {
      place.free();
    }
    return {};
  };
}
