/** Parses each line of a byte stream as JSON; drops an incomplete last line. Ends the source when the iteration stops. */
export async function* jsonLines(source: AsyncIterable<Uint8Array>): AsyncIterable<unknown> {
  const decoder = new TextDecoder();
  // Joins the chunks of a large object only once, when its line is complete.
  let parts: string[] = [];
  for await (const chunk of source) {
    const text = decoder.decode(chunk, { stream: true });
    let start = 0;
    for (let end = text.indexOf('\n'); end >= 0; end = text.indexOf('\n', start)) {
      parts.push(text.slice(start, end));
      start = end + 1;
      const line = parts.join('');
      parts = [];
      if (line.trim() !== '') yield JSON.parse(line) as unknown;
    }
    if (start < text.length) parts.push(text.slice(start));
  }
}
