import type { FunctionEvents } from '../../runtime/contracts/resources/function.ts';
import type { Id } from '../../runtime/domain/ids.ts';
import type { BoundCredentials } from '../../runtime/workloads/bindings.ts';
import type { SourceEvent } from '../../runtime/domain/events.ts';

/**
 * One data source of one function, open for one pass of a worker. A call that is refused or takes too long rejects; the
 * source is then closed, and opened again later.
 */
export interface EventSource {
  /**
   * All events in the source's order, a page at a time. The reader stops early (`return`) when it has no room left. A
   * complete iteration returns everything that was in the source when it began.
   */
  read(signal: AbortSignal): AsyncIterable<readonly SourceEvent[]>;
  /**
   * Confirms that these events are stored durably, so that the source may remove them. Called for every page, before
   * the next one is read.
   */
  confirm(events: readonly SourceEvent[]): Promise<void>;
  /**
   * Marks events as done in the source. Called only where the settings have a statement for it.
   * @returns the reasons of the failed ones; all others are marked
   */
  markDone(ids: readonly string[]): Promise<ReadonlyMap<string, string>>;
  /**
   * Whether confirmed events leave the source. A reading then starts with the events that the previous one did not
   * confirm, so that no other stored event can be found again, wherever the reading stops.
   */
  readonly consumed?: true;
  /** Closes the connections; never rejects. */
  close(): Promise<void>;
}

/** Servers choose the texts of their errors. */
const messageLengthMax = 500;

/** Why a source cannot be read. The message is shown to the function's owner and contains no password. */
export class SourceError extends Error {
  override name = 'SourceError';

  constructor(message: string, options?: ErrorOptions) {
    // PostgreSQL stores no NUL characters.
    super(message.replaceAll('\0', '').slice(0, messageLengthMax), options);
  }
}

/** The failure of a connection, or of a client that cannot decode what the server sent. */
export function connectionFailure(error: unknown): SourceError {
  const { message, code, name } = error as Error & { code?: string };
  // What the clients' parsers throw: errors of the language, of redis-parser, and of Node's HTTP parser.
  const parser = error instanceof RangeError || error instanceof TypeError || name === 'ParserError';
  if (parser || code?.startsWith('HPE_')) return new SourceError(unreadable, { cause: error });
  return new SourceError(`Cannot reach the service (${code ?? message}).`, { cause: error });
}

export const unreadable = 'Reading stopped: the server sent something that cannot be read.';

/** What is needed to open a source. */
export interface SourceRequest {
  /** The function's id. */
  workloadId: Id;
  /** Whose the source is, for the shares of projects. */
  project: string;
  settings: FunctionEvents;
  /** Of the function's own user. */
  credentials: BoundCredentials;
  /** The address to connect to: the host, or an IP address that it resolved to. */
  address: string;
}

/** @throws SourceError when the source is unreachable or refuses the credentials */
export type OpenSource = (request: SourceRequest) => Promise<EventSource>;
