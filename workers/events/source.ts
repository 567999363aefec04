import type { FunctionEvents } from '../../runtime/contracts/resources/function.ts';
import type { Id } from '../../runtime/domain/ids.ts';
import type { BoundCredentials } from '../../runtime/host/function-bindings.ts';
import type { FoundEvent } from '../../runtime/records/function-events.ts';

/**
 * One data source of one function, open for one turn of the worker that reads it. Whatever takes longer than it may, or is
 * refused, rejects; the source is closed then, and opened anew later.
 */
export interface EventSource {
  /**
   * What is there, in the source's order, a page at a time. The reader stops early (`return`) when there is no more room;
   * an iteration that came to its end has seen everything that was there when it began.
   */
  read(signal: AbortSignal): AsyncIterable<readonly FoundEvent[]>;
  /**
   * These are kept durably now (or were before), so that the source itself need not keep them any more. Called for each
   * page before the next one is asked for, also for the last one that was read.
   */
  taken(events: readonly FoundEvent[]): Promise<void>;
  /**
   * Marks events as done in the source. Only where the settings have a statement for that.
   * @returns why each of those failed that did; the others are marked
   */
  markDone(ids: readonly string[]): Promise<ReadonlyMap<string, string>>;
  /**
   * Whether what was taken is gone from it. What a reader left that ended in between is then the first that is read, so that
   * nothing else that is kept can be found again, wherever a reading stops.
   */
  readonly consumed?: true;
  /** Ends its connections; never rejects. */
  close(): Promise<void>;
}

/** A source whose settings or answers are at fault, in words for the function's owner; they never hold a password. */
export class SourceError extends Error {
  override name = 'SourceError';
}

/** What a source is made of. */
export interface SourceRequest {
  /** The function's id. */
  workloadId: Id;
  settings: FunctionEvents;
  /** The way into the service, as the function's own user. */
  credentials: BoundCredentials;
  /** Where to connect: the host, or an address that it was found to have. */
  address: string;
}

/** Opens a source; rejects with a {@link SourceError} when it cannot be reached or does not let the function in. */
export type OpenSource = (request: SourceRequest) => Promise<EventSource>;
