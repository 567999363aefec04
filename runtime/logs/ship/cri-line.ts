import { utcLogTime } from '../record.ts';

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
  const time = utcLogTime(buffer.toString('latin1', start, timeEnd));
  if (time === undefined) return undefined;
  const tags = timeEnd + 8;
  const tagsEnd = buffer.indexOf(space, tags);
  const second = buffer[tags + 1];
  const isTag = tags + 1 === end || second === space || second === tagEnd;
  if (!isTag) return undefined;
  const contentStart = tagsEnd < 0 || tagsEnd >= end ? end : tagsEnd + 1;
  return { time, stream, partial: buffer[tags] === partialTag, content: buffer.subarray(contentStart, end) };
}
