import type { Readable, Writable } from 'node:stream';

/** Maximum size of a message: a page of events with the last one of a megabyte, all of it escaped. */
const frameBytesMax = 24 * 1024 * 1024;
const headBytes = 4;

/** Writes a message: its length in four bytes, and JSON. @throws RangeError for one that is too large */
export function writeFrame(stream: Writable, message: object): void {
  const text = JSON.stringify(message);
  const bytes = Buffer.byteLength(text);
  if (bytes > frameBytesMax) throw new RangeError(`The message is larger than ${frameBytesMax} bytes.`);
  const frame = Buffer.allocUnsafe(headBytes + bytes);
  frame.writeUInt32BE(bytes);
  frame.write(text, headBytes);
  stream.write(frame);
}

/** Hands over each message of {@link writeFrame}; destroys the stream at one that is too large or no JSON. */
export function readFrames(stream: Readable, take: (message: unknown) => void): void {
  let parts: Buffer[] = [];
  let [bytes, needed] = [0, headBytes];
  stream.on('data', (part: Buffer) => {
    parts.push(part);
    bytes += part.length;
    // Wait for the whole message: joining the parts each time would copy a large one many times.
    if (bytes < needed) return;
    let rest = Buffer.concat(parts);
    try {
      for (needed = sizeOf(rest); rest.length >= needed; needed = sizeOf(rest)) {
        take(JSON.parse(rest.toString('utf8', headBytes, needed)));
        rest = rest.subarray(needed);
      }
    } catch (error) {
      stream.destroy(error instanceof Error ? error : new Error(String(error)));
      return;
    }
    [parts, bytes] = [[rest], rest.length];
  });
}

/** The size of the message that begins here, with its head. */
function sizeOf(bytes: Buffer): number {
  if (bytes.length < headBytes) return headBytes;
  const size = bytes.readUInt32BE();
  if (size > frameBytesMax) throw new RangeError('The message is too large.');
  return headBytes + size;
}
