/** Bytes that may wait for a slow receiver, by default. Until they are sent, the relay stops reading from the sender. */
const waitingDefault = 256 * 1024;
/** What a waiting message takes besides its content, in bytes: many small messages would otherwise count as nothing. */
const messageBytes = 512;

/** The sender of a direction. Both functions may be called in either state. */
interface Sender {
  pause(): void;
  resume(): void;
}

/**
 * Bounds the memory of the messages of one direction that wait for a slow receiver.
 * @returns a function that counts a message of that length, and returns the function to call once it is sent
 */
export function countWaiting(sender: Sender, waitingMax = waitingDefault): (length: number) => () => void {
  let waiting = 0;
  return (length) => {
    const bytes = length + messageBytes;
    waiting += bytes;
    if (waiting > waitingMax) sender.pause();
    return () => {
      waiting -= bytes;
      if (waiting <= waitingMax / 2) sender.resume();
    };
  };
}
