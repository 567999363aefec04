import type { OnReadOpts } from 'node:net';

/** Bytes of a read. Larger reads are fewer messages; Node.js reads 64 KiB by default, each into a buffer of its own. */
const readBytes = 128 * 1024;

/** Reads from a connection into one buffer as long as what it held was sent at once. */
export interface PodReader {
  /** For the options of `net.connect`. The connection must be paused until {@link PodReader.start}. */
  onread: OnReadOpts;
  /** @param take takes what was read, and returns whether it still needs the buffer afterwards */
  start(take: (data: Buffer) => boolean): void;
}

export function createPodReader(): PodReader {
  let buffer: Buffer | undefined;
  let take: ((data: Buffer) => boolean) | undefined;
  return {
    onread: {
      buffer: () => (buffer ??= Buffer.allocUnsafeSlow(readBytes)),
      callback(length) {
        if (buffer && take?.(buffer.subarray(0, length)) !== false) buffer = undefined;
        return true;
      },
    },
    start(receiver) {
      take = receiver;
    },
  };
}
