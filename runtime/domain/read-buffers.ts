/** Most buffers of a connection that wait to be used again. */
const spareMax = 4;

/**
 * The buffers that a connection is read into. Each is used again once what it holds was sent: memory of this size comes from
 * the system, which fills it with zeros, and goes back to it.
 */
export interface ReadBuffers {
  /** The buffer of the next read, for the option `onread` of `net.connect`. */
  next(): Buffer;
  /**
   * Takes the buffer of the last read out of use, because something still needs its content.
   * @returns gives it back; call it when nothing does. Until then, and if it is never called, other buffers are used
   */
  lend(): () => void;
}

/** @param bytes of each buffer */
export function createReadBuffers(bytes: number): ReadBuffers {
  const spare: Buffer[] = [];
  let current: Buffer | undefined;
  return {
    next: () => (current ??= spare.pop() ?? Buffer.allocUnsafeSlow(bytes)),
    lend() {
      let lent = current;
      current = undefined;
      return () => {
        if (lent && spare.length < spareMax) spare.push(lent);
        lent = undefined;
      };
    },
  };
}
