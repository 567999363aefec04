import { closeSync, mkdirSync, openSync, renameSync, writeSync } from 'node:fs';
import { readFile, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { StringDecoder } from 'node:string_decoder';
import type { ObjectMeta } from '../../../runtime/contracts/kubernetes.ts';
import type { Clock } from '../../../runtime/domain/clock.ts';
import { lineMaxLength } from '../../../runtime/logs/record.ts';

/** A log is rotated at this size; one rotated file is kept. */
const defaultMaxBytes = 10 * 1024 * 1024;
/** Longer lines are divided, so that output without line ends cannot fill the memory. The log store keeps as much. */
const maxLine = lineMaxLength;
/** How often to read a followed log. */
const followMs = 200;

/** Takes lines that a container printed. */
export type CollectLines = (
  from: { metadata: ObjectMeta; container: string; stream: 'stdout' | 'stderr'; time: string },
  lines: readonly string[],
) => void;

/** Writes the output of one run of a container. */
export interface LogWriter {
  write(stream: 'stdout' | 'stderr', chunk: Buffer): void;
  /** Writes an unfinished line and closes the file. */
  close(): void;
}

/** Options of {@link readLog}, named as in the API. */
export interface LogOptions {
  follow?: boolean;
  /** Reads the log of the previous run. */
  previous?: boolean;
  tailLines?: number;
  since?: Date;
  timestamps?: boolean;
}

const fileOf = (folder: string, restartCount: number) => join(folder, `${restartCount}.log`);

const isHighSurrogate = (code: number) => code >= 0xd800 && code < 0xdc00;

/** Opens the log of a run: lines `<time> <text>` of both streams, in order of arrival. */
export function createLogWriter(options: {
  folder: string;
  restartCount: number;
  clock: Clock;
  maxBytes?: number;
  /** Called with lines that were written. @param time in milliseconds, as in the log */
  onLines?: ((stream: 'stdout' | 'stderr', time: string, lines: readonly string[]) => void) | undefined;
}): LogWriter {
  const { folder, restartCount, clock, maxBytes = defaultMaxBytes, onLines } = options;
  const file = fileOf(folder, restartCount);
  mkdirSync(folder, { recursive: true });
  let descriptor = openSync(file, 'a');
  let size = 0;
  const streams = {
    stdout: { decoder: new StringDecoder(), rest: '' },
    stderr: { decoder: new StringDecoder(), rest: '' },
  };

  const writeLines = (stream: 'stdout' | 'stderr', lines: readonly string[]) => {
    if (lines.length === 0) return;
    const time = clock.now().toISOString();
    const text = lines.map((line) => `${time} ${line}\n`).join('');
    size += writeSync(descriptor, text);
    onLines?.(stream, time, lines);
    if (size < maxBytes) return;
    closeSync(descriptor);
    renameSync(file, `${file}.1`);
    descriptor = openSync(file, 'a');
    size = 0;
  };

  return {
    write(stream, chunk) {
      const state = streams[stream];
      // Only what is new is searched: a program can print a long line character by character.
      const [first = '', ...others] = state.decoder.write(chunk).split('\n');
      const lines: string[] = [];
      const append = (text: string) => {
        state.rest += text;
        while (state.rest.length > maxLine) {
          // A surrogate pair is not divided: neither half is a character.
          const end = isHighSurrogate(state.rest.charCodeAt(maxLine - 1)) ? maxLine - 1 : maxLine;
          lines.push(state.rest.slice(0, end));
          state.rest = state.rest.slice(end);
        }
      };
      append(first);
      for (const text of others) {
        lines.push(state.rest);
        state.rest = '';
        append(text);
      }
      writeLines(stream, lines);
    },
    close() {
      for (const stream of ['stdout', 'stderr'] as const) {
        const state = streams[stream];
        const rest = state.rest + state.decoder.end();
        if (rest !== '') writeLines(stream, [rest]);
      }
      closeSync(descriptor);
    },
  };
}

/** Deletes the logs of all runs before the previous one. */
export async function deleteOldLogs(folder: string, restartCount: number): Promise<void> {
  const names = await readdir(folder).catch(() => []);
  const old = names.filter((name) => /^\d+\.log/.test(name) && Number.parseInt(name, 10) < restartCount - 1);
  await Promise.all(old.map((name) => rm(join(folder, name), { force: true })));
}

/** The last lines of a run's log, at most `bytes`, for the termination message. */
export async function readLogTail(folder: string, restartCount: number, bytes = 2048): Promise<string> {
  const lines = await linesOf(folder, restartCount);
  const text = lines.slice(-80).map(textOf).join('\n');
  return Buffer.from(text).subarray(-bytes).toString('utf8');
}

/**
 * The lines of a container's newest log, each with its line end. A followed log ends when the run ends.
 * @param isRunning whether the run has not ended yet
 */
export async function* readLog(
  folder: string,
  { follow = false, previous = false, tailLines, since, timestamps = false }: LogOptions,
  { clock, signal, isRunning }: { clock: Clock; signal: AbortSignal; isRunning: () => boolean },
): AsyncIterable<string> {
  const names = await readdir(folder).catch(() => []);
  const restartCounts = [
    ...new Set(names.filter((name) => /^\d+\.log/.test(name)).map((name) => Number.parseInt(name, 10))),
  ];
  const restartCount = restartCounts.toSorted((a, b) => b - a)[previous ? 1 : 0];
  if (restartCount === undefined) return;
  const format = (line: string) => `${timestamps ? line : textOf(line)}\n`;
  const isRecent = (line: string) =>
    since === undefined || Date.parse(line.slice(0, line.indexOf(' '))) >= since.getTime();

  const all = await linesOf(folder, restartCount);
  const matching = all.filter(isRecent);
  yield* matching.slice(tailLines === undefined ? 0 : Math.max(0, matching.length - tailLines)).map(format);
  if (!follow) return;
  let previousLines = all;
  while (!signal.aborted) {
    // Checked before reading, so that the last lines before the end are read, too.
    const running = isRunning();
    const lines = await linesOf(folder, restartCount);
    // The log is shorter only after a rotation.
    const from =
      lines.length >= previousLines.length ? previousLines.length : lines.lastIndexOf(previousLines.at(-1) ?? '') + 1;
    yield* lines.slice(from).map(format);
    previousLines = lines;
    if (!running) return;
    await clock.sleep(followMs, signal).catch(() => undefined);
  }
}

async function linesOf(folder: string, restartCount: number): Promise<string[]> {
  const file = fileOf(folder, restartCount);
  const parts = await Promise.all([`${file}.1`, file].map((part) => readFile(part, 'utf8').catch(() => '')));
  return parts.join('').split('\n').filter(Boolean);
}

/** A line without its time. */
function textOf(line: string): string {
  return line.slice(line.indexOf(' ') + 1);
}
