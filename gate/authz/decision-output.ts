import { pino } from 'pino';
import type { DecisionOutput } from './decision-log.ts';

/** How much the output may lag behind before entries are no longer taken. */
const backlogMaxBytes = 4 * 1024 * 1024;
/** Entries are written in batches of this size (the stream's largest is 16 KiB), or after this time. */
const batchBytes = 15 * 1024;
const batchMs = 200;
/** How long the end waits for the last entries. */
const closeLimitMs = 1_000;

/** An output that is flushed at the end. */
export interface BufferedOutput extends DecisionOutput {
  /** Writes what is left; gives up after a second when the output hangs. */
  close(): Promise<void>;
}

/**
 * An output to a file descriptor (1 is stdout) off the event loop. A reader that stops reading costs entries, never
 * time: past 4 MiB they are not taken, which `write` says.
 */
export function openDecisionOutput(fileDescriptor: number): BufferedOutput {
  const stream = pino.destination({
    dest: fileDescriptor,
    sync: false,
    minLength: batchBytes,
    maxLength: backlogMaxBytes,
    // pino's types do not know this option of its sonic-boom.
    ...{ periodicFlush: batchMs },
  });
  let taken = true;
  // Told within `write`.
  stream.on('drop', () => (taken = false));
  // Nobody reads any more; the verdicts go on.
  stream.on('error', () => undefined);
  return {
    write(line) {
      taken = true;
      stream.write(line);
      return taken;
    },
    async close() {
      await new Promise<void>((resolve) => {
        const limit = setTimeout(resolve, closeLimitMs);
        stream.once('close', () => {
          clearTimeout(limit);
          resolve();
        });
        stream.end();
      });
    },
  };
}
