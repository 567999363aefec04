import type { LineStart } from '../domain/log-position.ts';
import { partMinLength } from '../workloads/pod-logs.ts';
import { kubeletLines, parseKubeletLine } from './kubelet-lines.ts';

/** Lines of one time that follow each other. */
interface TimeGroup {
  time: string;
  count: number;
}

/**
 * Finds where the last `tail` lines of a log begin. A kubelet counts the parts of long lines as lines, so the last ones that
 * it returns can begin within a line.
 * @param read the log with times, all of it or its last lines as the kubelet counts them
 * @returns undefined when all lines of the log are among the last
 */
export async function findTailStart(
  read: (tailLines: number | undefined) => AsyncIterable<Uint8Array>,
  tail: number,
): Promise<LineStart | undefined> {
  // One line more, because the first can be a part of one, and another one to see that the time is a new one.
  const limit = tail + 2;
  const last = await timesOf(read(limit), tail);
  if (last.lines < limit && !last.hasLong) return startIn(last, tail);
  if (last.lines > tail) {
    const start = startIn(last, tail);
    // The lines of the oldest time can be incomplete.
    if (start?.time !== last.groups[0]?.time) return start;
  }
  return startIn(await timesOf(read(undefined), tail), tail);
}

async function timesOf(chunks: AsyncIterable<Uint8Array>, tail: number) {
  const groups: TimeGroup[] = [];
  let lines = 0;
  let groupedLines = 0;
  let hasLong = false;
  for await (const text of kubeletLines(chunks)) {
    if (text === '') continue;
    const { time } = parseKubeletLine(text);
    hasLong ||= text.length >= partMinLength;
    lines += 1;
    groupedLines += 1;
    const group = groups.at(-1);
    if (group?.time === time) group.count += 1;
    else groups.push({ time, count: 1 });
    // Times of older lines are not needed.
    while (groups.length > 1 && groupedLines - (groups[0]?.count ?? 0) > tail)
      groupedLines -= groups.shift()?.count ?? 0;
  }
  return { groups, lines, hasLong };
}

function startIn({ groups, lines }: { groups: readonly TimeGroup[]; lines: number }, tail: number) {
  if (lines <= tail) return undefined;
  let missing = tail;
  for (const { time, count } of groups.toReversed()) {
    // Without a time, there is no telling.
    if (missing <= count) return time === '' ? undefined : { time, count: count - missing };
    missing -= count;
  }
  return undefined;
}
