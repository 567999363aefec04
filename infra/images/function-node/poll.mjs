// The sidecar `svc-poll` of functions with an event source: leases events from the platform, posts each to the function at
// /event, and reports the results. Events without a reported result are leased again by another pod.
import { createDelivery } from './poll-delivery.mjs';
import { createExchange } from './poll-exchange.mjs';
import { createLog } from './log.mjs';

/** The maximum number of leased events. */
const windowMax = 200;
/** Leases as many events as it can deliver in this time, so that slow events do not wait here while other pods are free. */
const leaseAheadMs = 250;
const heldBytesMax = 8 * 1024 * 1024;
/** How long the platform may wait for events before it responds. */
const waitMs = 20_000;
/** Results are collected for this time before they are reported, or for up to the longer time while many events wait. */
const collectMs = 10;
const collectMaxMs = 100;
/** When the function accepts no connections for longer than this, waiting events are released to other pods. */
const unreachableMaxMs = 5_000;
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
let averageMs = leaseAheadMs;
const lifecycle = { draining: false };
/** Aborts the current request for events, so that shutdown need not wait for it. */
let pendingRequest;
let onChange = () => undefined;

const resultCount = () => results.delivered.length + results.failed.length + results.released.length;
const leaseOf = ({ id, epoch }) => ({ id, epoch });
const window = () =>
  Math.max(concurrency, Math.min(windowMax, Math.ceil((concurrency * leaseAheadMs) / Math.max(1, averageMs))));
const heldBytes = () => [...held.values()].reduce((sum, { payload }) => sum + payload.length, 0);

async function deliver(event) {
  const startedAt = performance.now();
  const outcome = await delivery.deliver(event);
  averageMs += (performance.now() - startedAt - averageMs) / 5;
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
function startDeliveries() {
  while (!lifecycle.draining && running < concurrency && delivery.reachable() && waiting.length > 0) {
    running++;
    void deliver(waiting.shift()).finally(() => {
      running--;
      startDeliveries();
      onChange();
    });
  }
}

/** Reports results to the platform and leases new events. */
async function exchangeResults() {
  const reported = results;
  results = { delivered: [], failed: [], released: [] };
  const paused = lifecycle.draining || !delivery.reachable() || heldBytes() > heldBytesMax;
  const freeSlots = paused ? 0 : Math.max(0, window() - held.size);
  const idle = held.size === 0 && reported.delivered.length + reported.failed.length + reported.released.length === 0;
  pendingRequest = new AbortController();
  try {
    return await exchange(
      {
        ...reported,
        held: [...held.values()].map(leaseOf),
        max: freeSlots,
        waitMs: idle && freeSlots > 0 ? waitMs : 0,
      },
      pendingRequest.signal,
    );
  } catch (error) {
    // The platform counts a result once, even if it is reported twice.
    for (const kind of Object.keys(results)) results[kind].unshift(...reported[kind]);
    throw error;
  }
}

function acceptLeases({ events, lost }) {
  for (const id of lost) {
    const event = held.get(id);
    held.delete(id);
    if (waiting.includes(event)) waiting.splice(waiting.indexOf(event), 1);
  }
  for (const event of events) {
    if (lifecycle.draining) {
      results.released.push(leaseOf(event));
      continue;
    }
    held.set(event.id, event);
    waiting.push(event);
  }
  startDeliveries();
}

/** Resolves when there are results to report, or after `ms`. */
function waitForChange(ms) {
  if (resultCount() > 0 || held.size === 0) return Promise.resolve();
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    onChange = () => {
      if (resultCount() === 0 && held.size > 0 && delivery.reachable()) return;
      clearTimeout(timer);
      resolve();
    };
  });
}

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

async function collectResults() {
  for (let ms = 0; ms < collectMaxMs && waiting.length > 0 && !lifecycle.draining; ms += collectMs) {
    await sleep(collectMs);
    if (waiting.length < window() / 2) return;
  }
}

async function run() {
  let failures = 0;
  while (!(lifecycle.draining && held.size === 0 && resultCount() === 0)) {
    if (!lifecycle.draining)
      await delivery.waitUntilReachable(() => lifecycle.draining || held.size > 0 || resultCount() > 0);
    if (delivery.unreachableMs() > unreachableMaxMs) releaseWaiting();
    startDeliveries();
    try {
      const reply = await exchangeResults();
      if (failures > 0) log('info', 'reconnected to the platform');
      failures = 0;
      acceptLeases(reply);
      await waitForChange(delivery.reachable() ? reply.leaseMs / 3 : retryMinMs);
      await collectResults();
    } catch (error) {
      if (lifecycle.draining && failures > 3) return;
      if (pendingRequest.signal.aborted) continue;
      if (failures++ === 0) log('warn', `cannot fetch events from the platform: ${error.message}`);
      await sleep(Math.min(retryMaxMs, retryMinMs * 2 ** Math.min(failures, 10)) * (0.5 + Math.random() / 2));
    }
  }
}

/** Releases events whose delivery has not started. */
function releaseWaiting() {
  for (const event of waiting.splice(0)) {
    held.delete(event.id);
    results.released.push(leaseOf(event));
  }
}

/** Releases waiting events immediately, and lets running deliveries finish. */
function shutDown() {
  if (lifecycle.draining) return;
  lifecycle.draining = true;
  releaseWaiting();
  if (resultCount() === 0 && held.size === 0) pendingRequest?.abort();
  onChange();
  setTimeout(() => process.exit(0), drainMaxMs).unref();
}

process.on('SIGTERM', shutDown);
process.on('SIGINT', shutDown);
log('info', 'waiting for events', { concurrency });
await run();
process.exit(0);
