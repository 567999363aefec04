import { readFile } from 'node:fs/promises';
import { connectionSettings } from '../../runtime/db/connection.ts';
import { systemClock } from '../../runtime/domain/clock.ts';
import { createProbeCheck } from '../../runtime/domain/gate-probe.ts';
import { newId } from '../../runtime/domain/ids.ts';
import { parseTrustedProxies } from '../../runtime/domain/trusted-proxies.ts';
import { createAdminServer } from '../../runtime/process/admin-server.ts';
import { loadAuthzConfig } from '../../runtime/process/config.ts';
import { runProcess } from '../../runtime/process/lifecycle.ts';
import { createLogger } from '../../runtime/process/log.ts';
import { openLineOutput } from '../../runtime/process/line-output.ts';
import { createMetrics } from '../../runtime/process/metrics.ts';
import { createDecisionLog } from './decision-log.ts';
import { createFeed } from './feed.ts';
import { createAuthorizeHandler } from './handler.ts';
import { createKeySlots } from './key-slots.ts';
import { createGateMetrics } from './metrics.ts';
import { createPostgresRateChannel } from './rate-channel.ts';
import { createRateExchange } from './rate-exchange.ts';
import { createReadiness } from './readiness.ts';
import { createAuthzServer } from './server.ts';
import { createSharedRates } from './shared-rates.ts';
import { createPostgresStore } from './store.ts';
import { createUsage } from './usage.ts';
import { createUsageWriter } from './usage-writer.ts';
import { createRequestCheck } from './verdict.ts';
import { createGateView } from './view.ts';
import { createWatchdog } from './watchdog.ts';

const name = 'svc-authz';
/** The ingress needs about this long to notice that an endpoint terminates. */
const drainMs = 5_000;
const stdout = 1;
/**
 * With up to this many keys, the process collects garbage after the first load, which frees a tenth of its memory. Later, a
 * collection would stop the thread while it serves; with more keys, it takes so long that the watchdog ends the process.
 */
const collectMaxKeys = 300_000;

/** Serves until the process is stopped. */
async function serve(): Promise<void> {
  const config = loadAuthzConfig(process.env);
  const trustedProxies = parseTrustedProxies(process.argv.slice(2));
  const log = createLogger(name, config.log);
  await runProcess({
    name,
    log,
    async start(lifecycle) {
      const clock = systemClock;
      const registry = createMetrics();
      const slots = createKeySlots();
      const view = createGateView(slots);
      const rates = createSharedRates(view, slots, clock);
      const metrics = createGateMetrics(registry, { view, rates, clock });
      const readiness = createReadiness(view, clock);
      const ready = () => lifecycle.running() && readiness();

      const output = openLineOutput(stdout);
      const decisions = createDecisionLog({ name, output, clock, trustedProxies, onLost: () => metrics.denialLost() });
      lifecycle.add({
        name: 'decision log',
        stop: () => {
          decisions.close();
          return output.close();
        },
      });

      const admin = createAdminServer({ port: config.admin.port, registry, ready });
      await admin.start();
      lifecycle.add({ name: 'admin server', stop: () => admin.stop() });

      const database = { ...connectionSettings(config.database), application_name: `${name}/${config.pod.name}` };
      const store = createPostgresStore(database);
      const usage = createUsage(newId(), slots);
      const feed = createFeed({
        store,
        view,
        usage,
        rates,
        name: config.pod.name,
        clock,
        log,
        onFirstLoad: () => {
          // The usual collection keeps the pages of the first load for later.
          if (view.size().keys <= collectMaxKeys) globalThis.gc?.({ type: 'major', flavor: 'last-resort' });
        },
        observe: (outcome) => metrics.polled(outcome),
      });
      const writer = createUsageWriter({
        store,
        usage,
        clock,
        log,
        onFailure: () => metrics.flushFailed(),
        onClosed: () => feed.nudge(),
      });
      // Stopped after the feed, which would otherwise continue under a new process life when it finds this one closed.
      writer.start();
      lifecycle.add({ name: 'usage writer', stop: () => writer.stop() });
      feed.start();
      lifecycle.add({ name: 'feed', stop: () => feed.stop() });
      const exchange = createRateExchange({
        open: createPostgresRateChannel(database),
        rates,
        clock,
        log,
        onFailure: () => metrics.exchangeFailed(),
      });
      exchange.start();
      lifecycle.add({ name: 'rate exchange', stop: () => exchange.stop() });

      const check = createRequestCheck({ view, usage, rates, trustedProxies });
      const { gateProbeKeyFile } = config;
      const probeKey = gateProbeKeyFile === undefined ? undefined : await readFile(gateProbeKeyFile, 'utf8');
      const isProbe = probeKey === undefined ? undefined : createProbeCheck(probeKey, clock);
      const authorize = createAuthorizeHandler({ check, clock, decisions, metrics, isProbe, log });
      const server = createAuthzServer({ port: config.http.port, authorize, registry, ready, clock, drainMs });
      await server.start();
      lifecycle.add({ name: 'main server', stop: () => server.stop() });

      const watchdog = createWatchdog({ name });
      watchdog.start();
      lifecycle.add({ name: 'watchdog', stop: () => watchdog.stop() });
    },
  });
}

// When the image is built, Node stores the compiled files, so that the pod needs no memory to remove types.
if (!process.argv.includes('--compile-only')) await serve();
