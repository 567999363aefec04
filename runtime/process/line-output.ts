import { pino } from 'pino';

/** A line-oriented output that never blocks: {@link openLineOutput}'s, or a test's array. */
export interface LineOutput {
  /** @returns false when the line was dropped */
  write(line: string): boolean;
}

/** Buffered bytes beyond which entries are dropped. */
const backlogMaxBytes = 4 * 1024 * 1024;
/** Entries are written in batches of this size (the stream's maximum is 16 KiB), or after this time. */
const batchBytes = 15 * 1024;
const batchMs = 200;
/** Maximum time that `close` waits for the last entries. */
const closeLimitMs = 1_000;

/** An output that `close` flushes. */
export interface BufferedOutput extends LineOutput {
  /** Writes the buffered entries; gives up after a second when the output blocks. */
  close(): Promise<void>;
}

/**
 * An asynchronous output to a file descriptor (1 is stdout). When the reader stops reading, `write` never blocks: it
 * drops entries beyond 4 MiB and returns false.
 */
export function openLineOutput(fileDescriptor: number): BufferedOutput {
  const stream = pino.destination({
    dest: fileDescriptor,
    sync: false,
    minLength: batchBytes,
    maxLength: backlogMaxBytes,
    // An option of sonic-boom that pino's types lack.
    periodicFlush: batchMs,
  });
  let accepted = true;
  // Emitted during `write`.
  stream.on('drop', () => (accepted = false));
  // The reader is gone. Verdicts continue without a log.
  stream.on('error', () => undefined);
  return {
    write(line) {
      accepted = true;
      stream.write(line);
      return accepted;
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
