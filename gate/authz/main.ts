import pg from 'pg';
import { connectionSettings } from '../../runtime/db/connection.ts';
import { systemClock } from '../../runtime/domain/clock.ts';
import { createAdminServer } from '../../runtime/host/admin-server.ts';
import { loadAuthzConfig } from '../../runtime/host/config.ts';
import { runProcess } from '../../runtime/host/lifecycle.ts';
import { createLogger } from '../../runtime/host/log.ts';
import { createMetrics } from '../../runtime/host/metrics.ts';
import { createDecisionLog } from './decision-log.ts';
import { openDecisionOutput } from './decision-output.ts';
import { createFeed } from './feed.ts';
import { createAuthorizeHandler } from './handler.ts';
import { createGateMetrics } from './metrics.ts';
import { createAuthzServer } from './server.ts';
import { createGateView } from './view.ts';

const name = 'svc-authz';
/** The ingress needs about as long to learn that an endpoint goes. */
const drainMs = 5_000;
const stdout = 1;

const config = loadAuthzConfig(process.env);
const log = createLogger(name, config.log);

/** A connection outside any pool: it listens, and whoever doubts it cuts it. */
async function connect(): Promise<pg.Client> {
  const client = new pg.Client({
    ...connectionSettings(config.database),
    application_name: `${name}/${config.pod.name}`,
  });
  client.on('error', (error) => log.debug({ err: error }, 'connection to the store lost'));
  await client.connect();
  return client;
}

await runProcess({
  name,
  log,
  async start(lifecycle) {
    const clock = systemClock;
    const registry = createMetrics();
    const view = createGateView();
    const metrics = createGateMetrics(registry, view, clock);
    // A replica that has gone stale stays ready: only while it gets requests can it answer them with the 503 that says
    // so. Without an endpoint the ingress answers an empty 500.
    const ready = () => lifecycle.running() && view.position() !== undefined;

    const output = openDecisionOutput(name, stdout);
    lifecycle.add({ name: 'decision log', stop: () => output.close() });

    const admin = createAdminServer({ port: config.admin.port, registry, ready });
    await admin.start();
    lifecycle.add({ name: 'admin server', stop: () => admin.stop() });

    const feed = createFeed({ connect, view, clock, log, observe: (outcome) => metrics.polled(outcome) });
    feed.start();
    lifecycle.add({ name: 'feed', stop: () => feed.stop() });

    const decisions = createDecisionLog(name, output);
    const authorize = createAuthorizeHandler({ view, clock, decisions, metrics, log });
    const server = createAuthzServer({ port: config.http.port, authorize, registry, ready, clock, drainMs });
    await server.start();
    lifecycle.add({ name: 'main server', stop: () => server.stop() });
  },
});
