/**
 * Collects the bytes of a stream, such as a body; null has none, as in `fetch`. @throws the error of `tooLarge` as soon as there are more than `max` bytes;
 * the rest of the stream is then discarded
 */
export async function readBytes(
  stream: AsyncIterable<Uint8Array> | null,
  max: number,
  tooLarge: () => Error,
): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of stream ?? []) {
    bytes += chunk.length;
    if (bytes > max) throw tooLarge();
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
