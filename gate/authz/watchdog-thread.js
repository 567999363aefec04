// The thread of watchdog.ts. Plain JavaScript: stripping types would cost the thread 12 MB of memory.
import { write } from 'node:fs';
import { workerData } from 'node:worker_threads';

/** Interval between two checks. */
const lookEveryMs = 250;
/** A check that comes later than this was delayed itself, as by a suspended machine, and does not count. */
const onTimeMs = 3 * lookEveryMs;
const stdout = 1;
const writeLimitMs = 200;

/** @type {import('./watchdog.ts').WatchdogData} */
const { name, stallMs, beats } = workerData;
const pause = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));

let last = Atomics.load(beats, 0);
let looked = performance.now();
let stalled = 0;

while (stalled < stallMs) {
  Atomics.wait(pause, 0, 0, lookEveryMs);
  const [beat, now] = [Atomics.load(beats, 0), performance.now()];
  const waited = now - looked;
  looked = now;
  if (beat !== last) stalled = 0;
  else if (waited <= onTimeMs) stalled += waited;
  last = beat;
}

const kill = () => process.kill(process.pid, 'SIGKILL');
const entry = { level: 'fatal', time: new Date().toISOString(), name, stalledMs: Math.round(stalled) };
write(stdout, `${JSON.stringify({ ...entry, msg: 'event loop is blocked; killing the process' })}\n`, kill);
// In case the reader of the log is blocked, too.
setTimeout(kill, writeLimitMs);
