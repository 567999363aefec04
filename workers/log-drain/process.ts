import type { LookupFunction } from 'node:net';
import type { Pool } from 'pg';
import type { Logger } from 'pino';
import { backoff, type Attempt, type Processor } from '../../runtime/bus/runner.ts';
import type { Clock } from '../../runtime/domain/clock.ts';
import { newId, type Id } from '../../runtime/domain/ids.ts';
import { systemNamespace } from '../../runtime/domain/labels.ts';
import { logDrainContext } from '../../runtime/domain/log-drain.ts';
import { unseal, type KeyRing } from '../../runtime/domain/sealed.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import { catalogue, logDrainId } from '../../runtime/queues/catalogue.ts';
import {
  findLogDrain,
  recordDrainedPage,
  recordDrainFailure,
  recordLogDrainTest,
  type LogDrain,
} from '../../runtime/records/log-drain.ts';
import type { FedLine, FeedPage, LogFeed } from '../../runtime/logs/feed.ts';
import { logTime } from '../../runtime/logs/record.ts';
import { readSettingsIfAny } from '../../runtime/workloads/platform-config.ts';
import type { LogDrainMetrics } from './metrics.ts';
import { deliver, pageRequests, type Receiver } from './receiver.ts';

export interface LogDrainDependencies {
  pool: Pool;
  /** For the installation's CA certificates. */
  kube: Pick<KubeClient, 'get'>;
  keyRing: KeyRing;
  clock: Clock;
  /** The lines of the log store; undefined for an installation without one. */
  feed: LogFeed | undefined;
  metrics: LogDrainMetrics;
  /** Called with the name of each step, at which tests kill the process. */
  failpoint: (name: string) => void;
  /** Time-out of a request; default 15 s. */
  timeoutMs?: number;
  /** Default: the system's resolver. */
  lookup?: LookupFunction;
}

/** How long an attempt begins further pages, and its pause when the log store has no new lines. */
const stepMs = 5_000;
const idleMs = 1_000;
const withoutDrainMs = 3_600_000;
/** Refused lines are logged this often: the log is drained, too, and must not refill the drain. */
const warnMs = 60_000;

/** What a step did: how long to wait before the next one, and whether because of a failure. */
interface Progress {
  waitMs: number;
  failed: boolean;
}

/**
 * Sends the lines of the log store to the log drain, page by page. The position moves when the receiver has answered, so
 * that a drain that is down loses nothing that the store keeps, and a process that dies sends its last page again.
 */
export function createLogDrainProcessor(dependencies: LogDrainDependencies): Processor {
  const { pool, kube, keyRing, clock, feed, metrics, failpoint, timeoutMs = 15_000, lookup } = dependencies;
  let warnedAt: number | undefined;
  /** How often the page at a position failed after its lines were divided. */
  let divided: { position: string | null; count: number } | undefined;

  /** The installation's CA certificates, as they were read last. */
  let caCertificates: string | undefined;

  const readCertificates = async (log: Logger) => {
    try {
      caCertificates = (await readSettingsIfAny(kube))?.caCertificates;
    } catch (error) {
      log.debug({ err: error }, 'the CA certificates cannot be read');
    }
  };

  const receiverOf = ({ url, format, networks, headers: sealed }: LogDrain): Receiver | undefined => {
    const headers = sealed === null ? {} : openHeaders(keyRing, sealed);
    return headers && { url, format, networks, headers, timeoutMs, lookup, caCertificates };
  };

  const fail = async (drain: LogDrain, error: string, log: Logger, retryAfterMs = 0, pending?: number) => {
    if (drain.failures === 0) log.warn({ error }, 'log drain failed');
    await recordDrainFailure(pool, error, pending);
    const waitMs = Math.max(backoff(catalogue['log-drains'], drain.failures + 1), retryAfterMs);
    return { waitMs, failed: true };
  };

  const test = async (id: Id, receiver: Receiver | undefined, signal: AbortSignal) => {
    if (!receiver) return recordLogDrainTest(pool, id, sealedFault);
    const delivery = await deliver(receiver, [testLine(clock)], signal);
    await recordLogDrainTest(pool, id, 'failure' in delivery ? delivery.failure : delivery.error);
  };

  const record = async (
    drain: LogDrain,
    page: FeedPage,
    lines: { sent: number; refused: number; error?: string | undefined },
    log: Logger,
  ) => {
    const { sent, refused, error } = lines;
    const deleted = page.missed;
    const newest = page.lines
      .map(({ time }) => time)
      .toSorted()
      .at(-1);
    const isRecorded = await recordDrainedPage(pool, {
      before: drain.position,
      position: page.position,
      sent,
      refused,
      deleted,
      pending: page.pending,
      lastLineAt: newest === undefined ? undefined : new Date(newest),
      error,
    });
    if (!isRecorded) return;
    metrics.page({ sent, refused, deleted });
    if (drain.failures > 0) log.info({ failures: drain.failures }, 'log drain works again');
    if (refused + deleted === 0 || (warnedAt !== undefined && clock.monotonic() - warnedAt < warnMs)) return;
    warnedAt = clock.monotonic();
    log.error({ refused, deleted, error }, 'log drain lost lines');
  };

  const step = async (drain: LogDrain, { signal, log }: Attempt): Promise<Progress> => {
    const receiver = receiverOf(drain);
    if (drain.testState === 'pending' && drain.testId !== null) await test(drain.testId, receiver, signal);
    if (!receiver) return fail(drain, sealedFault, log);
    if (!feed) return fail(drain, 'this installation has no log store', log);
    let page: FeedPage;
    try {
      page = await feed.feed(drain.position ?? undefined, signal);
    } catch (error) {
      log.debug({ err: error }, 'the log store cannot be read');
      return fail(drain, 'the log store does not answer, or is disabled', log);
    }
    const { lines, position, pending } = page;
    if (lines.length === 0) {
      const isChanged = position !== drain.position || pending !== drain.pendingLines;
      if (isChanged || (drain.failures > 0 && pending === 0)) await record(drain, page, { sent: 0, refused: 0 }, log);
      return { waitMs: position === drain.position || pending === 0 ? idleMs : 0, failed: false };
    }
    const count = divided?.position === drain.position ? divided.count : 0;
    // Half as many requests each time: a receiver that allows few must not keep the drain at this page for ever.
    const delivery = await deliver(receiver, lines, signal, pageRequests >> count);
    // The end of the attempt is no failure of the receiver.
    signal.throwIfAborted();
    failpoint('log-drain.sent');
    if ('failure' in delivery) {
      if (delivery.divided) divided = { position: drain.position, count: count + 1 };
      metrics.attempt('failed');
      return fail(drain, delivery.failure, log, delivery.retryAfterMs, pending + lines.length);
    }
    metrics.attempt(delivery.sent > 0 ? 'accepted' : 'refused');
    await record(drain, page, delivery, log);
    return { waitMs: pending === 0 ? idleMs : 0, failed: false };
  };

  return async (attempt) => {
    const end = clock.monotonic() + stepMs;
    let isFirst = true;
    for (;;) {
      const drain = await findLogDrain(pool);
      // Not done: a drain that is set at this moment has made the row due again.
      if (!drain) return { again: new Date(clock.now().getTime() + withoutDrainMs) };
      if (isFirst && drain.url.startsWith('https:')) await readCertificates(attempt.log);
      isFirst = false;
      const { waitMs, failed } = await step(drain, attempt);
      attempt.signal.throwIfAborted();
      const left = end - clock.monotonic();
      if (failed || left <= waitMs) return { again: new Date(clock.now().getTime() + waitMs) };
      if (waitMs > 0) await clock.sleep(waitMs, attempt.signal);
    }
  };
}

const sealedFault = 'its headers cannot be decrypted, because their key was removed. Set the log drain again';

/** The headers; undefined when the key that they are sealed with was removed from the ring. */
function openHeaders(keyRing: KeyRing, sealed: string): Record<string, string> | undefined {
  try {
    return JSON.parse(unseal(keyRing, logDrainContext(logDrainId), sealed)) as Record<string, string>;
  } catch {
    return undefined;
  }
}

function testLine(clock: Clock): FedLine {
  return {
    id: 0,
    namespace: systemNamespace,
    pod: 'svc-workers',
    container: 'svc-workers',
    workload: { kind: 'platform', name: 'svc-workers' },
    time: logTime(clock.now()),
    stream: 'stdout',
    line: JSON.stringify({ level: 'info', msg: 'Test of the log drain', id: newId() }),
  };
}
