import { pino } from 'pino';
import type { DecisionOutput } from './decision-log.ts';

/** How much the output may lag behind before entries are dropped. */
const backlogMaxBytes = 4 * 1024 * 1024;
/** Entries are written in batches of this size, or after this time. */
const batchBytes = 4096;
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
 * time: past 4 MiB they are dropped, and the number of denials among them is told in one entry when there is room again.
 * @param name the process's name, as in its other log entries
 */
export function openDecisionOutput(name: string, fileDescriptor: number): BufferedOutput {
  const stream = pino.destination({
    dest: fileDescriptor,
    sync: false,
    minLength: batchBytes,
    maxLength: backlogMaxBytes,
    // pino's types do not know this option of its sonic-boom.
    ...{ periodicFlush: batchMs },
  });
  let dropped = 0;
  stream.on('drop', (line: string) => {
    if (line.includes('authorize deny')) dropped++;
  });
  stream.on('drain', () => {
    if (dropped === 0) return;
    const count = dropped;
    dropped = 0;
    const time = new Date().toISOString();
    stream.write(`${JSON.stringify({ level: 'warn', time, name, count, msg: 'authorize deny' })}\n`);
  });
  // Nobody reads any more; the verdicts go on.
  stream.on('error', () => undefined);
  return {
    write(line) {
      stream.write(line);
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
