/** A control character that is no white space. */
const control = /[^\P{Cc}\t\n\v\f\r]/u;

/**
 * The text of a file in UTF-8, without a byte order mark; undefined for anything else: other encodings, binary data, and a
 * PDF, which can be all ASCII. The content decides, whatever the file's name is. Pure.
 */
export function textOfFile(bytes: Uint8Array): string | undefined {
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
  if (control.test(text)) return undefined;
  // The beginning is enough: a reader of such files looks for it there.
  return text.slice(0, 1_024).trimStart().startsWith('%PDF-') ? undefined : text;
}
