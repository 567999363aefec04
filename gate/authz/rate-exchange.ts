import type { Logger } from 'pino';
import type { Clock } from '../../runtime/domain/clock.ts';
import { withDeadline } from '../../runtime/domain/deadline.ts';
import { newId } from '../../runtime/domain/ids.ts';
import type { OpenRateChannel, RateChannel } from './rate-channel.ts';
import { messageKeys, readRateMessage, writeRateMessage } from './rate-message.ts';
import type { SharedRates } from './shared-rates.ts';

/** The usual interval of reports, and the shortest: while a key is close to what it may take before the next report. */
const [reportEveryMs, urgentEveryMs] = [100, 20] as const;
/** An empty report is sent after this time, so that a channel that carries nothing is noticed. */
const proveEveryMs = 5_000;
/** A report that does not come back in this time did not reach the others. */
const echoLimitMs = 1_000;
const connectLimitMs = 5_000;
const [retryMinMs, retryMaxMs] = [250, 5_000] as const;
/** Keys of one report: 2 ms of work for each replica. The others wait for the next one. */
const reportKeys = 10 * messageKeys;

export interface RateExchangeDependencies {
  open: OpenRateChannel;
  rates: SharedRates;
  clock: Clock;
  log: Logger;
  /** Called whenever the exchange ends, for metrics. */
  onFailure?: () => void;
}

/** Exchanges with the other replicas what each has taken of the rate limits. */
export interface RateExchange {
  /** Starts and returns at once. While there is no connection, this replica limits on its own. */
  start(): void;
  stop(): Promise<void>;
}

/**
 * Sends what this replica took and receives what the others took, on a connection of its own, so that neither the feed
 * nor usage delays it. A report counts as known to the others once it came back, because all replicas get all reports
 * in one order. With nothing to report, or no other replica, nothing is sent.
 */
export function createRateExchange({ open, rates, clock, log, onFailure }: RateExchangeDependencies): RateExchange {
  const sender = newId();
  const stopping = new AbortController();
  let running: Promise<void> | undefined;
  let reports = 0;
  let awaited: { number: number; arrived: () => void } | undefined;
  let due: 'no' | 'yes' | 'urgent' = 'no';
  let wake: (() => void) | undefined;

  rates.onDue((urgent) => {
    if (due === 'urgent' || (due === 'yes' && !urgent)) return;
    due = urgent ? 'urgent' : 'yes';
    wake?.();
  });

  const received = (text: string) => {
    const message = readRateMessage(text);
    if (!message) return;
    if (message.sender !== sender) message.taken.forEach((taken) => rates.received(taken));
    else if (awaited && message.number >= awaited.number) awaited.arrived();
  };

  /** Sleeps for `ms`, or until `isEnough` at a wake. */
  const sleep = async (ms: number, isEnough: () => boolean) => {
    if (stopping.signal.aborted || isEnough()) return;
    const timer = new AbortController();
    wake = () => isEnough() && timer.abort();
    await clock.sleep(ms, timer.signal).catch(() => undefined);
    wake = undefined;
  };

  const report = async (channel: RateChannel) => {
    due = 'no';
    const taken = rates.collect(reportKeys);
    const messages: string[] = [];
    for (let start = 0; start === 0 || start < taken.length; start += messageKeys) {
      const part = taken.slice(start, start + messageKeys);
      messages.push(writeRateMessage({ sender, number: ++reports, taken: part }));
    }
    const echo = new Promise<void>((resolve) => {
      awaited = { number: reports, arrived: resolve };
    });
    const both = Promise.all([channel.send(messages), echo]);
    await withDeadline({ clock, signal: stopping.signal, ms: echoLimitMs, what: 'a report of rates' }, both);
    rates.reported(taken);
    // No request may come to say that there are more keys.
    if (taken.length === reportKeys && due === 'no') due = 'yes';
  };

  /** Reports until the connection is lost. */
  const exchange = async (channel: RateChannel, isLost: () => boolean) => {
    const ends = () => stopping.signal.aborted || isLost();
    while (!ends()) {
      await sleep(urgentEveryMs, ends);
      await sleep(reportEveryMs - urgentEveryMs, () => due === 'urgent' || ends());
      await sleep(proveEveryMs - reportEveryMs, () => due !== 'no' || ends());
      if (ends()) return;
      if (rates.replicas() > 1) await report(channel);
      else due = 'no';
    }
  };

  const connect = async () => {
    let lost = false;
    const opening = open({
      received,
      lost: () => {
        lost = true;
        wake?.();
      },
    });
    try {
      const limit = { clock, signal: stopping.signal, ms: connectLimitMs, what: 'connecting for rates' };
      return { channel: await withDeadline(limit, opening), isLost: () => lost };
    } catch (error) {
      void opening.then(
        (late) => late.end(),
        () => undefined,
      );
      throw error;
    }
  };

  const run = async () => {
    let failures = 0;
    while (!stopping.signal.aborted) {
      let channel: RateChannel | undefined;
      try {
        const connection = await connect();
        channel = connection.channel;
        await report(channel);
        if (failures > 0) log.info({ failures }, 'rate limits are shared again');
        failures = 0;
        rates.connected(true);
        await exchange(channel, connection.isLost);
        throw new Error('the connection was lost');
      } catch (error) {
        channel?.end();
        if (stopping.signal.aborted) return;
        if (failures === 0) log.warn({ err: error }, 'rate limits are not shared, each replica limits on its own');
        const limit = Math.min(retryMaxMs, retryMinMs * 2 ** failures);
        failures++;
        onFailure?.();
        rates.connected(false);
        await sleep(limit / 2 + Math.random() * (limit / 2), () => stopping.signal.aborted);
      }
    }
  };

  return {
    start() {
      running ??= run();
    },
    async stop() {
      stopping.abort();
      wake?.();
      await running;
    },
  };
}
