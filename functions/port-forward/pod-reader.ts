import type { OnReadOpts } from 'node:net';
import { createReadBuffers } from '../../runtime/domain/read-buffers.ts';

/** Bytes of a read. Larger reads are fewer messages; Node.js reads 64 KiB by default, each into a buffer of its own. */
const readBytes = 128 * 1024;

/** Reads from a connection into few buffers. */
export interface PodReader {
  /** For the options of `net.connect`. The connection must be paused until {@link PodReader.start}. */
  onread: OnReadOpts;
  /** @param take takes what was read, and calls `release` when it does not need its memory any more */
  start(take: (data: Buffer, release: () => void) => void): void;
}

export function createPodReader(): PodReader {
  const buffers = createReadBuffers(readBytes);
  let take: Parameters<PodReader['start']>[0] | undefined;
  return {
    onread: {
      buffer: () => buffers.next(),
      callback(length, buffer) {
        take?.(Buffer.from(buffer.buffer, buffer.byteOffset, length), buffers.lend());
        return true;
      },
    },
    start(receiver) {
      take = receiver;
    },
  };
}
