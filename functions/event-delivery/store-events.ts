import type { IncomingMessage } from 'node:http';
import type { Pool } from 'pg';
import type { Logger } from 'pino';
import { storeEventsPath } from '../../runtime/contracts/event-exchange.ts';
import { kinds } from '../../runtime/contracts/resources/kinds.ts';
import { eventsTokenField, eventsTokenName, type ServiceResource } from '../../runtime/contracts/resources/service.ts';
import { noticesOf, storeEvents } from '../../runtime/contracts/store-events.ts';
import type { Clock } from '../../runtime/domain/clock.ts';
import { Problem } from '../../runtime/domain/problem.ts';
import { sameText } from '../../runtime/domain/same-text.ts';
import { parseJson, readBody } from '../../runtime/host/http-body.ts';
import { isOwned, type Secret } from '../../runtime/host/owned-secret.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import { keepNotices } from '../../runtime/records/object-notices.ts';
import { createKnownTokens } from './known-tokens.ts';

export interface StoreEventsDependencies {
  kube: Pick<KubeClient, 'get'>;
  pool: Pool;
  clock: Clock;
  log: Logger;
}

const paths = new RegExp(`^${storeEventsPath('([a-z0-9-]{1,63})', '([a-z0-9-]{1,63})')}$`);

/**
 * Takes what an object store that the platform runs tells of its buckets; the path names the service, and a token of its own
 * proves it. A store keeps what it could not tell and tries it again before all else, so that a message that nobody can read
 * is taken, too: the next listing of the bucket sees what it was about.
 * @returns undefined for a path of something else
 */
export function createStoreEvents({ kube, pool, clock, log }: StoreEventsDependencies) {
  const identify = createKnownTokens(
    { clock },
    {
      refusal: 'Events of a bucket are told by the object store that has it, with a token of its own.',
      async review(token, place) {
        const [, namespace = '', service = ''] = paths.exec(place) ?? [];
        const found = await kube.get<ServiceResource>(kinds.ServiceResource, service, namespace);
        if (!found || found.spec.external) return undefined;
        const secret = await kube.get<Secret>(kinds.Secret, eventsTokenName(service), namespace);
        if (!secret || !isOwned(secret, found)) return undefined;
        const known = Buffer.from(secret.data?.[eventsTokenField] ?? '', 'base64').toString('utf8');
        return sameText(token, known) && known !== '' ? { namespace, service } : undefined;
      },
    },
  );

  return async (request: IncomingMessage): Promise<Record<string, never> | undefined> => {
    const { url = '', headers } = request;
    if (!paths.test(url)) return undefined;
    if (request.method !== 'POST') throw new Problem('method_not_allowed', 'Events of a bucket are told by POST.');
    const store = await identify(headers.authorization, url);
    try {
      const body = parseJson(storeEvents, await readBody(request), headers['content-type']);
      await keepNotices(pool, store, noticesOf(body));
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      log.warn({ ...store, reason: error.message }, 'events of a bucket not understood');
    }
    return {};
  };
}
