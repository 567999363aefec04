/** The end of a text that may be too long to store or show. */
export interface TextTail {
  text: string;
  /** Whether the beginning is missing. */
  truncated: boolean;
}

/** A program's output as PostgreSQL can store it: without zero characters, which its texts cannot have. Pure. */
export function withoutNul(text: string): string {
  return text.replaceAll('\0', '');
}

/** The last `maxBytes` of a text, starting at a line; if the last line alone is longer, its last bytes. Pure. */
export function textTail(bytes: Buffer, maxBytes: number): TextTail {
  let start = bytes.length - maxBytes;
  if (start <= 0) return { text: bytes.toString('utf8'), truncated: false };
  const line = bytes.indexOf('\n', start - 1) + 1;
  if (line > 0 && line < bytes.length) start = line;
  // Do not start within a character.
  else while (((bytes[start] ?? 0) & 0xc0) === 0x80) start += 1;
  return { text: bytes.toString('utf8', start), truncated: true };
}
