import type { DestinationStream } from 'pino';

/** An output that {@link createTurnOutput} makes. */
export interface TurnOutput extends DestinationStream {
  /** Writes what is left at once; pino calls it after a fatal entry. */
  flushSync(): void;
}

/**
 * Writes the lines of one turn of the event loop together, because a write costs more than to make the line. A process that
 * is killed loses the lines of its last turn.
 * @param output writes synchronously
 */
export function createTurnOutput(output: DestinationStream): TurnOutput {
  let lines = '';
  const flushSync = () => {
    if (lines === '') return;
    const text = lines;
    lines = '';
    output.write(text);
  };
  return {
    write(line) {
      if (lines === '') setImmediate(flushSync);
      lines += line;
    },
    flushSync,
  };
}
