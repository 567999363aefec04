import { withCutMark } from '../record.ts';
import type { CriLine } from './cri-line.ts';

/** Maximum bytes of a line that is shipped; the rest is left out, and the line says so. */
export const lineMaxBytes = 64 * 1024;
/** A line whose rest does not arrive for this long is shipped incomplete. */
const pendingMaxMs = 10_000;

/** Memory for incomplete lines, which all containers share. */
export interface PendingBudget {
  /** Maximum bytes of all, and of one namespace. */
  readonly max: number;
  readonly namespaceMax: number;
  total: number;
  namespaces: Map<string, number>;
}

/** @param max bytes of incomplete lines in memory; a namespace gets a quarter of it */
export function createPendingBudget(max: number): PendingBudget {
  return { max, namespaceMax: max / 4, total: 0, namespaces: new Map() };
}

/** A line that a container printed. */
export interface JoinedLine {
  time: string;
  stream: CriLine['stream'];
  text: string;
  cut: boolean;
}

/** An incomplete line in the state on disk. */
export interface PendingLine {
  stream: CriLine['stream'];
  time: string;
  /** Base64. */
  bytes: string;
  /** Bytes of it that the container has printed. */
  printed: number;
}

/** Joins the partial lines of one container's streams. */
export interface LineJoiner {
  /** @returns the line that this completes @param now a monotonic time */
  add(line: CriLine, now: number): JoinedLine | undefined;
  /** The lines that have been incomplete for too long; all lines at the end of the container. */
  expire(now: number, all?: boolean): JoinedLine[];
  pending(): PendingLine[];
  restore(lines: readonly PendingLine[], now: number): void;
}

interface Pending {
  time: string;
  parts: Buffer[];
  kept: number;
  printed: number;
  since: number;
}

export function createLineJoiner(namespace: string, budget: PendingBudget): LineJoiner {
  const streams = new Map<CriLine['stream'], Pending>();

  const charge = (bytes: number) => {
    budget.total += bytes;
    const used = (budget.namespaces.get(namespace) ?? 0) + bytes;
    if (used > 0) budget.namespaces.set(namespace, used);
    else budget.namespaces.delete(namespace);
  };
  const room = (pending: Pending) =>
    Math.max(
      0,
      Math.min(
        lineMaxBytes - pending.kept,
        budget.max - budget.total,
        budget.namespaceMax - (budget.namespaces.get(namespace) ?? 0),
      ),
    );
  const finish = (stream: CriLine['stream'], { time, parts, kept, printed }: Pending): JoinedLine => {
    charge(-kept);
    streams.delete(stream);
    return toJoinedLine(time, stream, Buffer.concat(parts), printed);
  };

  const keep = (pending: Pending, content: Buffer) => {
    const part = content.subarray(0, room(pending));
    // Once a part was left out, what follows would seem to continue the part before.
    const complete = pending.kept === pending.printed;
    pending.printed += content.length;
    if (!complete || part.length === 0) return;
    // A copy, because the buffer is used again for the next read.
    pending.parts.push(Buffer.from(part));
    pending.kept += part.length;
    charge(part.length);
  };

  return {
    add({ time, stream, partial, content }, now) {
      const started = streams.get(stream);
      if (!started && !partial) return toJoinedLine(time, stream, content.subarray(0, lineMaxBytes), content.length);
      const pending = started ?? { time, parts: [], kept: 0, printed: 0, since: now };
      if (!started) streams.set(stream, pending);
      pending.since = now;
      keep(pending, content);
      return partial ? undefined : finish(stream, pending);
    },
    expire(now, all = false) {
      const lines: JoinedLine[] = [];
      for (const [stream, pending] of streams) {
        if (all || now - pending.since >= pendingMaxMs) lines.push(finish(stream, pending));
      }
      return lines;
    },
    pending: () =>
      [...streams].map(([stream, { time, parts, printed }]) => ({
        stream,
        time,
        bytes: Buffer.concat(parts).toString('base64'),
        printed,
      })),
    restore(lines, now) {
      for (const { stream, time, bytes, printed } of lines) {
        const part = Buffer.from(bytes, 'base64').subarray(0, lineMaxBytes);
        streams.set(stream, { time, parts: [part], kept: part.length, printed, since: now });
        charge(part.length);
      }
    },
  };
}

function toJoinedLine(time: string, stream: CriLine['stream'], kept: Buffer, printed: number): JoinedLine {
  if (kept.length >= printed) return { time, stream, text: kept.toString('utf8'), cut: false };
  const end = characterEnd(kept);
  return { time, stream, text: withCutMark(kept.toString('utf8', 0, end), end), cut: true };
}

/** The end of the last whole character. */
function characterEnd(bytes: Buffer): number {
  let start = bytes.length - 1;
  while (start > 0 && bytes.length - start < 4 && ((bytes[start] ?? 0) & 0xc0) === 0x80) start -= 1;
  const lead = bytes[start] ?? 0;
  const length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1;
  return start + length > bytes.length ? Math.max(start, 0) : bytes.length;
}
