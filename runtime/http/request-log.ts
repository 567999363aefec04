import type { Logger } from 'pino';
import { systemClock, type Clock } from '../domain/clock.ts';

const secondMs = 1_000;
/** Entries of refused requests in a second. A flood of more costs a sum for each kind, not a line for each request. */
const refusalsMax = 50;

/** A request that was answered. */
export interface AnsweredRequest {
  method: string;
  /** The pattern of the route. */
  route: string;
  status: number;
  ms: number;
}

/**
 * Writes an entry for each request (docs/reference/logs.md#requests). Of refused ones (4xx and 503), those beyond 50 in a
 * second are summed by method, route and status. There are few of each, so that the sums take no memory worth limiting.
 *
 * @param log for the sums @param clock for tests
 */
export function createRequestLog(log: Logger, clock: Clock = systemClock) {
  let refusals = 0;
  const sums = new Map<string, Omit<AnsweredRequest, 'ms'> & { count: number }>();
  let second: Promise<void> | undefined;

  const endSecond = () => {
    second = undefined;
    refusals = 0;
    for (const sum of sums.values()) log.info(sum, 'requests refused');
    sums.clear();
  };

  /** @param own the log of the request, with its id */
  return (request: AnsweredRequest, own: Logger): void => {
    const { method, route, status } = request;
    const isRefusal = (status >= 400 && status < 500) || status === 503;
    if (!isRefusal || ++refusals <= refusalsMax) own.info(request, 'request');
    else {
      const kind = `${method} ${route} ${status}`;
      const sum = sums.get(kind);
      if (sum) sum.count++;
      else sums.set(kind, { method, route, status, count: 1 });
    }
    if (isRefusal) second ??= clock.sleep(secondMs).then(endSecond);
  };
}
