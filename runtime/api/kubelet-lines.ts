import { lineMaxLength, utcLogTime } from '../logs/record.ts';

/** Of a time as a kubelet writes it. */
const timeMaxLength = 35;

/** A line of a log with times; `time` is empty when the kubelet reported none. */
export function parseKubeletLine(text: string): { time: string; line: string } {
  const space = text.indexOf(' ');
  const end = space < 0 ? text.length : space;
  const time = end > timeMaxLength ? undefined : utcLogTime(text.slice(0, end));
  return time === undefined ? { time: '', line: text } : { time, line: text.slice(end + 1) };
}

/** Lines of at most {@link lineMaxLength} characters. A container can print for hours without a newline. */
export async function* kubeletLines(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let line = '';
  const append = (text: string) => {
    const room = lineMaxLength - line.length;
    if (text.length <= room) line += text;
    // The rest of the line is dropped.
    else if (room > 0) line = (line + text.slice(0, room)).toWellFormed();
  };
  for await (const chunk of chunks) {
    const [first = '', ...others] = decoder.decode(chunk, { stream: true }).split('\n');
    append(first);
    for (const next of others) {
      yield line;
      line = '';
      append(next);
    }
  }
  if (line !== '') yield line;
}
