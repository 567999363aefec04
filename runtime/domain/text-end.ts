/** The end of a text that may be too long to be kept or shown. */
export interface TextEnd {
  text: string;
  /** Whether the beginning is left out. */
  truncated: boolean;
}

/** The last bytes of a text, from the beginning of a line; of a last line that is longer alone, its own end. Pure. */
export function textEnd(bytes: Buffer, maxBytes: number): TextEnd {
  let start = bytes.length - maxBytes;
  if (start <= 0) return { text: bytes.toString('utf8'), truncated: false };
  const line = bytes.indexOf('\n', start - 1) + 1;
  if (line > 0 && line < bytes.length) start = line;
  // Else it would begin with a part of a character.
  else while (((bytes[start] ?? 0) & 0xc0) === 0x80) start += 1;
  return { text: bytes.toString('utf8', start), truncated: true };
}
