// The sidecar `svc-poll` of functions with an event source: leases events from the platform, posts each to the function at
// /event, and reports the results. Events without a reported result are leased again by another pod.
import { createDelivery } from './poll-delivery.mjs';
import { createExchange } from './poll-exchange.mjs';
import { createLog } from './log.mjs';

/** The maximum number of leased events. */
const windowMax = 200;
/** Leases as many events as it can deliver in this time, so that slow events do not wait here while other pods are free. */
const aheadMs = 250;
const heldBytesMax = 8 * 1024 * 1024;
/** How long the platform may wait for events before it responds. */
const waitMs = 20_000;
/** Results are collected for this time before they are reported; for the longer time while many events are waiting. */
const gatherMs = 10;
const gatherMaxMs = 100;
/** When the function accepts no connections for longer than this, waiting events are released to other pods. */
const awayMaxMs = 5_000;
/** Shorter than the pod's grace period of 30 s. */
const drainMaxMs = 24_000;
const retryMinMs = 250;
const retryMaxMs = 10_000;

const log = createLog(() => undefined);
const concurrency = Number(process.env.EVENT_CONCURRENCY ?? 1);
const delivery = createDelivery({
  port: Number(process.env.HTTP_PORT ?? 8080),
  timeoutMs: Number(process.env.REQUEST_TIMEOUT_SECONDS ?? 300) * 1000,
});
const exchange = createExchange({ url: process.env.EVENTS_URL, tokenFile: process.env.EVENTS_TOKEN_FILE });

/** Leased events without a response, by id. */
const held = new Map();
const waiting = [];
let running = 0;
let results = { delivered: [], failed: [], released: [] };
/** The average duration of recent deliveries. */
let usualMs = aheadMs;
const life = { draining: false };
/** Aborts the current request for events, so that shutdown need not wait for it. */
let asking;
let changed = () => undefined;

const told = () => results.delivered.length + results.failed.length + results.released.length;
const leaseOf = ({ id, epoch }) => ({ id, epoch });
const window = () =>
  Math.max(concurrency, Math.min(windowMax, Math.ceil((concurrency * aheadMs) / Math.max(1, usualMs))));
const bytesHeld = () => [...held.values()].reduce((sum, { payload }) => sum + payload.length, 0);

async function deliver(event) {
  const begun = performance.now();
  const outcome = await delivery.deliver(event);
  usualMs += (performance.now() - begun - usualMs) / 5;
  // An event whose lease was lost belongs to another pod.
  if (held.get(event.id) !== event) return;
  if (outcome === 'unreachable') {
    waiting.unshift(event);
    return;
  }
  held.delete(event.id);
  if (outcome.failure === undefined) results.delivered.push(leaseOf(event));
  else {
    log('warn', 'event delivery failed', { event: event.eventId, attempt: event.attempt, ...outcome.failure });
    results.failed.push({ ...leaseOf(event), ...outcome.failure });
  }
}

/** Starts deliveries in order, up to the concurrency limit. */
function pump() {
  while (!life.draining && running < concurrency && delivery.reachable() && waiting.length > 0) {
    running++;
    void deliver(waiting.shift()).finally(() => {
      running--;
      pump();
      changed();
    });
  }
}

/** Reports results to the platform and leases new events. */
async function turn() {
  const telling = results;
  results = { delivered: [], failed: [], released: [] };
  const closed = life.draining || !delivery.reachable() || bytesHeld() > heldBytesMax;
  const room = closed ? 0 : Math.max(0, window() - held.size);
  const quiet = held.size === 0 && telling.delivered.length + telling.failed.length + telling.released.length === 0;
  asking = new AbortController();
  try {
    return await exchange(
      { ...telling, held: [...held.values()].map(leaseOf), max: room, waitMs: quiet && room > 0 ? waitMs : 0 },
      asking.signal,
    );
  } catch (error) {
    // The platform counts it once, even if it is reported again.
    for (const kind of Object.keys(results)) results[kind].unshift(...telling[kind]);
    throw error;
  }
}

function take({ events, lost }) {
  for (const id of lost) {
    const event = held.get(id);
    held.delete(id);
    if (waiting.includes(event)) waiting.splice(waiting.indexOf(event), 1);
  }
  for (const event of events) {
    if (life.draining) {
      results.released.push(leaseOf(event));
      continue;
    }
    held.set(event.id, event);
    waiting.push(event);
  }
  pump();
}

/** Resolves when there are results to report, or after `ms`. */
function somethingNew(ms) {
  if (told() > 0 || held.size === 0) return Promise.resolve();
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    changed = () => {
      if (told() === 0 && held.size > 0 && delivery.reachable()) return;
      clearTimeout(timer);
      resolve();
    };
  });
}

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

async function gather() {
  for (let ms = 0; ms < gatherMaxMs && waiting.length > 0 && !life.draining; ms += gatherMs) {
    await sleep(gatherMs);
    if (waiting.length < window() / 2) return;
  }
}

async function run() {
  let failures = 0;
  while (!(life.draining && held.size === 0 && told() === 0)) {
    if (!life.draining) await delivery.untilReachable(() => life.draining || held.size > 0 || told() > 0);
    if (delivery.awayMs() > awayMaxMs) giveBack();
    pump();
    try {
      const grant = await turn();
      if (failures > 0) log('info', 'reconnected to the platform');
      failures = 0;
      take(grant);
      await somethingNew(delivery.reachable() ? grant.leaseMs / 3 : retryMinMs);
      await gather();
    } catch (error) {
      if (life.draining && failures > 3) return;
      if (asking.signal.aborted) continue;
      if (failures++ === 0) log('warn', `cannot fetch events from the platform: ${error.message}`);
      await sleep(Math.min(retryMaxMs, retryMinMs * 2 ** Math.min(failures, 10)) * (0.5 + Math.random() / 2));
    }
  }
}

/** Releases events whose delivery has not started. */
function giveBack() {
  for (const event of waiting.splice(0)) {
    held.delete(event.id);
    results.released.push(leaseOf(event));
  }
}

/** Releases waiting events immediately, and lets running deliveries finish. */
function end() {
  if (life.draining) return;
  life.draining = true;
  giveBack();
  if (told() === 0 && held.size === 0) asking?.abort();
  changed();
  setTimeout(() => process.exit(0), drainMaxMs).unref();
}

process.on('SIGTERM', end);
process.on('SIGINT', end);
log('info', 'waiting for events', { concurrency });
await run();
process.exit(0);
