import type { Pool } from 'pg';
import { checkNetworks } from '../../runtime/api/receiver-address.ts';
import { transaction } from '../../runtime/db/pool.ts';
import { newId } from '../../runtime/domain/ids.ts';
import { logDrainContext } from '../../runtime/domain/log-drain.ts';
import { Problem } from '../../runtime/domain/problem.ts';
import { seal, type KeyRing } from '../../runtime/domain/sealed.ts';
import { route, type Route } from '../../runtime/http/route.ts';
import { logDrainId } from '../../runtime/queues/catalogue.ts';
import {
  deleteLogDrain,
  findLogDrain,
  requestLogDrainTest,
  setLogDrain,
  type LogDrain,
} from '../../runtime/records/log-drain.ts';
import { renewWork } from '../../runtime/records/work.ts';
import { checkDrainHeaders, checkDrainUrl } from './check.ts';
import { deleteLogDrainSchema, getLogDrainSchema, setLogDrainSchema, testLogDrainSchema } from './schema.ts';
import { logDrainToView, testToView } from './view.ts';

export interface LogDrainDependencies {
  pool: Pool;
  keyRing: KeyRing;
}

const tag = 'platform';
const path = '/platform/log-drain';

/** `/platform/log-drain`: the address to which every line of the log store is also sent. */
export function createLogDrainRoutes({ pool, keyRing }: LogDrainDependencies): Route[] {
  // Only the origin of the URL, because its path may contain a secret of the receiver, and no values of headers.
  const auditOf = ({ url, format, headerNames, networks }: LogDrain) => ({
    logDrain: { origin: new URL(url).origin, format, headers: headerNames, networks },
  });

  return [
    route({
      ...getLogDrainSchema,
      method: 'GET',
      path,
      access: 'platform-admin',
      tag,
      summary: 'Shows the log drain and its counts, without the values of its headers.',
      async handle() {
        return { status: 200, body: logDrainToView((await findLogDrain(pool)) ?? notFound()) };
      },
    }),
    route({
      ...setLogDrainSchema,
      method: 'PUT',
      path,
      access: 'platform-admin',
      tag,
      summary: 'Sets the log drain: every line that the log store accepts from now on is also sent to this address.',
      audit: 'platform.log-drain.set',
      async handle({ body: { url, format, headers = {}, networks = [] } }) {
        checkDrainHeaders(headers);
        const allowed = checkNetworks(networks);
        const headerNames = Object.keys(headers);
        const settings = {
          url: checkDrainUrl(url, format, allowed),
          format,
          networks: allowed,
          headerNames,
          headers:
            headerNames.length === 0 ? null : seal(keyRing, logDrainContext(logDrainId), JSON.stringify(headers)),
        };
        const drain = await transaction(pool, async (client) => {
          const written = await setLogDrain(client, settings);
          await renewWork(client, 'log-drains', logDrainId);
          return written;
        });
        return { status: 200, body: logDrainToView(drain), audit: auditOf(drain) };
      },
    }),
    route({
      ...testLogDrainSchema,
      method: 'POST',
      path: `${path}/test`,
      access: 'platform-admin',
      tag,
      summary: 'Sends a test line. The result is in `test` of the log drain.',
      audit: 'platform.log-drain.test',
      async handle() {
        const drain = await transaction(pool, async (client) => {
          const requested = (await requestLogDrainTest(client, newId())) ?? notFound();
          await renewWork(client, 'log-drains', logDrainId);
          return requested;
        });
        return { status: 202, body: testToView(drain) ?? notFound(), audit: auditOf(drain) };
      },
    }),
    route({
      ...deleteLogDrainSchema,
      method: 'DELETE',
      path,
      access: 'platform-admin',
      tag,
      summary: 'Removes the log drain. Lines that wait are not sent; the log store keeps them.',
      audit: 'platform.log-drain.remove',
      async handle() {
        const drain = (await deleteLogDrain(pool)) ?? notFound();
        return { status: 204, audit: auditOf(drain) };
      },
    }),
  ];
}

function notFound(): never {
  throw new Problem('not_found', 'The platform has no log drain. Set one: svc platform log-drain set');
}
