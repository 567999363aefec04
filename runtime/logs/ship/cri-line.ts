/** One line of a container's log file in the format of the container runtime interface. */
export interface CriLine {
  /** RFC 3339 in UTC with nine decimals. */
  time: string;
  stream: 'stdout' | 'stderr';
  /** Whether the rest of what the container printed follows in the next line of this stream. */
  partial: boolean;
  /** The bytes that the container printed, as a view of the buffer. */
  content: Buffer;
}

const space = 0x20;
const tagEnd = 0x3a;
const partialTag = 'P'.charCodeAt(0);
const timeMaxLength = 35;
const timeShape =
  /^(\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d)$/;

/**
 * Parses `<time> <stream> <tags> <content>`, without the line break. Only the runtime writes what precedes the content, so
 * content that looks like such a line stays content.
 * https://github.com/kubernetes/kubernetes/blob/master/pkg/kubelet/kuberuntime/logs/logs.go
 * @returns undefined for a line in another format
 */
export function parseCriLine(buffer: Buffer, start: number, end: number): CriLine | undefined {
  const timeEnd = buffer.indexOf(space, start);
  if (timeEnd < 0 || timeEnd - start > timeMaxLength || timeEnd + 8 >= end) return undefined;
  const stream = buffer.toString('latin1', timeEnd + 1, timeEnd + 7);
  if ((stream !== 'stdout' && stream !== 'stderr') || buffer[timeEnd + 7] !== space) return undefined;
  const time = utcTime(buffer.toString('latin1', start, timeEnd));
  if (time === undefined) return undefined;
  const tags = timeEnd + 8;
  const tagsEnd = buffer.indexOf(space, tags);
  const second = buffer[tags + 1];
  const isTag = tags + 1 === end || second === space || second === tagEnd;
  if (!isTag) return undefined;
  const contentStart = tagsEnd < 0 || tagsEnd >= end ? end : tagsEnd + 1;
  return { time, stream, partial: buffer[tags] === partialTag, content: buffer.subarray(contentStart, end) };
}

/** Runtimes write their local time, and some omit zeros at the end. */
function utcTime(text: string): string | undefined {
  const match = timeShape.exec(text);
  if (!match) return undefined;
  const [, seconds = '', decimals = '', zone = 'Z'] = match;
  if (zone === 'Z') return decimals.length === 9 ? text : `${seconds}.${decimals.padEnd(9, '0')}Z`;
  const utc = new Date(`${seconds}${zone}`);
  if (Number.isNaN(utc.getTime())) return undefined;
  return `${utc.toISOString().slice(0, 19)}.${decimals.padEnd(9, '0')}Z`;
}
