/** An event in a source, which is delivered to the function once. */
export interface SourceEvent {
  /** The source's id of the event, the same each time it is read; at most {@link eventIdBytesMax} bytes. */
  id: string;
  /** A JSON text, delivered unchanged; undefined when it is larger than {@link eventBytesMax} bytes. */
  payload: string | undefined;
}

/** Ids are indexed, and PostgreSQL limits the size of index entries. */
export const eventIdBytesMax = 2_000;

/** Maximum size of an event: a thousand of them have to fit into memory and the database. */
export const eventBytesMax = 1024 * 1024;
