import { closeSync, mkdirSync, openSync, renameSync, writeSync } from 'node:fs';
import { readFile, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { StringDecoder } from 'node:string_decoder';
import type { Clock } from '../../../runtime/domain/clock.ts';

/** A container's log is turned over at this size; one older part is kept. */
const defaultMaxBytes = 10 * 1024 * 1024;
/** A line that is longer comes in parts, so that a program without line ends cannot fill the memory. */
const maxLine = 16 * 1024;
/** How often a log that is followed is looked at. */
const followMs = 200;

/** Where a container's output of one life goes. */
export interface LogWriter {
  write(stream: 'stdout' | 'stderr', chunk: Buffer): void;
  /** Writes what has no line end yet. */
  close(): void;
}

/** What is wanted of a log; the names are those of the API. */
export interface LogOptions {
  follow?: boolean;
  /** The life before the present one. */
  previous?: boolean;
  tailLines?: number;
  since?: Date;
  timestamps?: boolean;
}

const fileOf = (folder: string, life: number) => join(folder, `${life}.log`);

/** Opens the log of a container's n-th life: lines `<time> <text>`, of both streams as they come. */
export function createLogWriter(options: { folder: string; life: number; clock: Clock; maxBytes?: number }): LogWriter {
  const { folder, life, clock, maxBytes = defaultMaxBytes } = options;
  const file = fileOf(folder, life);
  mkdirSync(folder, { recursive: true });
  let descriptor = openSync(file, 'a');
  let size = 0;
  const streams = {
    stdout: { decoder: new StringDecoder(), rest: '' },
    stderr: { decoder: new StringDecoder(), rest: '' },
  };

  const put = (lines: readonly string[]) => {
    if (lines.length === 0) return;
    const time = clock.now().toISOString();
    const text = lines.map((line) => `${time} ${line}\n`).join('');
    size += writeSync(descriptor, text);
    if (size < maxBytes) return;
    closeSync(descriptor);
    renameSync(file, `${file}.1`);
    descriptor = openSync(file, 'a');
    size = 0;
  };

  return {
    write(stream, chunk) {
      const state = streams[stream];
      const lines = (state.rest + state.decoder.write(chunk)).split('\n');
      state.rest = lines.pop() ?? '';
      while (state.rest.length > maxLine) {
        lines.push(state.rest.slice(0, maxLine));
        state.rest = state.rest.slice(maxLine);
      }
      put(lines);
    },
    close() {
      for (const state of Object.values(streams)) {
        const rest = state.rest + state.decoder.end();
        if (rest !== '') put([rest]);
      }
      closeSync(descriptor);
    },
  };
}

/** Removes the logs of lives before the last one that ended. */
export async function forgetLogs(folder: string, life: number): Promise<void> {
  const names = await readdir(folder).catch(() => []);
  const old = names.filter((name) => /^\d+\.log/.test(name) && Number.parseInt(name, 10) < life - 1);
  await Promise.all(old.map((name) => rm(join(folder, name), { force: true })));
}

/** The last lines of a life's log, `bytes` at most: what a container said before it failed. */
export async function lastWords(folder: string, life: number, bytes = 2048): Promise<string> {
  const lines = await linesOf(folder, life);
  const text = lines.slice(-80).map(textOf).join('\n');
  return Buffer.from(text).subarray(-bytes).toString('utf8');
}

/**
 * The lines of a container's log, each with its line end. A log that is followed ends with the life it belongs to.
 * @param isRunning whether that life goes on
 */
export async function* readLog(
  folder: string,
  { follow = false, previous = false, tailLines, since, timestamps = false }: LogOptions,
  { clock, signal, isRunning }: { clock: Clock; signal: AbortSignal; isRunning: () => boolean },
): AsyncIterable<string> {
  const names = await readdir(folder).catch(() => []);
  const lives = [...new Set(names.filter((name) => /^\d+\.log/.test(name)).map((name) => Number.parseInt(name, 10)))];
  const life = lives.toSorted((a, b) => b - a)[previous ? 1 : 0];
  if (life === undefined) return;
  const show = (line: string) => `${timestamps ? line : textOf(line)}\n`;
  const recent = (line: string) =>
    since === undefined || Date.parse(line.slice(0, line.indexOf(' '))) >= since.getTime();

  const all = await linesOf(folder, life);
  const first = all.filter(recent);
  yield* first.slice(tailLines === undefined ? 0 : Math.max(0, first.length - tailLines)).map(show);
  if (!follow) return;
  let seen = all;
  while (!signal.aborted) {
    // Looked at first: what was said before the end must still come.
    const running = isRunning();
    const lines = await linesOf(folder, life);
    // Shorter only when it was turned over meanwhile.
    const from = lines.length >= seen.length ? seen.length : lines.lastIndexOf(seen.at(-1) ?? '') + 1;
    yield* lines.slice(from).map(show);
    seen = lines;
    if (!running) return;
    await clock.sleep(followMs, signal).catch(() => undefined);
  }
}

async function linesOf(folder: string, life: number): Promise<string[]> {
  const file = fileOf(folder, life);
  const parts = await Promise.all([`${file}.1`, file].map((part) => readFile(part, 'utf8').catch(() => '')));
  return parts.join('').split('\n').filter(Boolean);
}

/** A line without its time. */
function textOf(line: string): string {
  return line.slice(line.indexOf(' ') + 1);
}
