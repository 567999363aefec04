import type { Duplex } from 'node:stream';

/**
 * Maximum size of one answer of a tenant's server: a batch of sixteen events of a megabyte each, and half as much again
 * for what surrounds them. A client process has room for several, because what was read is not freed at once.
 */
const answerBytesMax = 24 * 1024 * 1024;

/** A tenant's server sent more than was asked for. */
export class AnswerTooLargeError extends Error {
  override readonly name = 'AnswerTooLargeError';

  constructor() {
    super(`the server sent more than ${answerBytesMax / 1024 ** 2} MiB in one answer`);
  }
}

/** Counts what a connection receives, and ends the connection when an answer is too large. */
export interface AnswerLimit {
  /** Counts on this stream too: an encrypted connection has a second one. @returns the stream */
  watch<Stream extends Duplex>(stream: Stream): Stream;
  /** A new answer begins. Call it before each request, and after each part that was handed over. */
  reset(): void;
  /** Why the connection was ended; some clients hide it. */
  readonly error: AnswerTooLargeError | undefined;
}

/** The limit of one connection to a tenant's server, because clients keep an answer in memory until it is complete. */
export function limitAnswers(): AnswerLimit {
  let bytes = 0;
  let error: AnswerTooLargeError | undefined;
  return {
    watch(stream) {
      // The client must not get the last part before it is counted.
      stream.prependListener('data', (chunk: Buffer) => {
        bytes += chunk.length;
        if (bytes <= answerBytesMax || error) return;
        error = new AnswerTooLargeError();
        stream.destroy(error);
      });
      return stream;
    },
    reset() {
      bytes = 0;
    },
    get error() {
      return error;
    },
  };
}
