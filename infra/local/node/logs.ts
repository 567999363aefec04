import { closeSync, mkdirSync, openSync, renameSync, writeSync } from 'node:fs';
import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { StringDecoder } from 'node:string_decoder';
import type { ObjectMeta } from '../../../runtime/contracts/kubernetes.ts';
import type { Clock } from '../../../runtime/domain/clock.ts';
import { lineMaxLength } from '../../../runtime/logs/record.ts';
import type { LogWatch } from './log-watch.ts';

/** A log is rotated at this size; one rotated file is kept. */
const defaultMaxBytes = 10 * 1024 * 1024;
/** Longer lines are divided, so that output without line ends cannot fill the memory. The log store keeps as much. */
const maxLine = lineMaxLength;

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

/** The file of a run's log. The one that was rotated last has the same name with `.1`. */
export const logFileOf = (folder: string, restartCount: number) => join(folder, `${restartCount}.log`);

/** The runs that have a log, the newest first. */
export async function runsWithLogs(folder: string): Promise<number[]> {
  const names = await readdir(folder).catch(() => []);
  const runs = names.filter((name) => /^\d+\.log/.test(name)).map((name) => Number.parseInt(name, 10));
  return [...new Set(runs)].toSorted((a, b) => b - a);
}

const isHighSurrogate = (code: number) => code >= 0xd800 && code < 0xdc00;

/** Opens the log of a run: lines `<time> <text>` of both streams, in order of arrival. */
export function createLogWriter(options: {
  folder: string;
  restartCount: number;
  clock: Clock;
  maxBytes?: number;
  watch?: LogWatch | undefined;
  /** Called with lines that were written. @param time in milliseconds, as in the log */
  onLines?: ((stream: 'stdout' | 'stderr', time: string, lines: readonly string[]) => void) | undefined;
}): LogWriter {
  const { folder, restartCount, clock, maxBytes = defaultMaxBytes, watch, onLines } = options;
  const file = logFileOf(folder, restartCount);
  mkdirSync(folder, { recursive: true });
  let descriptor = openSync(file, 'a');
  watch?.begin(file);
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
    if (size >= maxBytes) {
      closeSync(descriptor);
      renameSync(file, `${file}.1`);
      descriptor = openSync(file, 'a');
      size = 0;
    }
    watch?.notify(file);
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
      watch?.end(file);
    },
  };
}

/** Deletes the logs of all runs before the previous one. */
export async function deleteOldLogs(folder: string, restartCount: number): Promise<void> {
  const old = (await runsWithLogs(folder)).filter((run) => run < restartCount - 1);
  const files = old.map((run) => logFileOf(folder, run)).flatMap((file) => [file, `${file}.1`]);
  await Promise.all(files.map((file) => rm(file, { force: true })));
}
