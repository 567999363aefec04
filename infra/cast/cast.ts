/** The first line of a cast. */
export interface CastHeader {
  version: 2;
  width: number;
  height: number;
  title: string;
  /** Players shorten pauses to this, in seconds. */
  idle_time_limit: number;
}

/** What happened at a time: a chapter began (`m`), a command was typed (`i`), or something was printed (`o`). */
export type CastEvent = readonly [seconds: number, kind: 'm' | 'i' | 'o', text: string];

/** A recorded terminal session, as `asciinema play` reads it: https://docs.asciinema.org/manual/asciicast/v2/ */
export interface Cast {
  header: CastHeader;
  events: readonly CastEvent[];
}

/** Writes a cast as text: a JSON line for the header and for each event. */
export function writeCast({ header, events }: Cast): string {
  return [header, ...events].map((line) => `${JSON.stringify(line)}\n`).join('');
}

/** Reads what {@link writeCast} writes. */
export function readCast(text: string): Cast {
  const [header, ...events] = text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as unknown);
  return { header: header as CastHeader, events: events as CastEvent[] };
}

/** A command of a tutorial or a cast, as a terminal shows it after it was typed. */
export function promptOf(command: string): string {
  return `$ ${command.replaceAll('\n', '\n> ')}\n`.replaceAll('\n', '\r\n');
}
