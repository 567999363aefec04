import { mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '../../../runtime/domain/clock.ts';
import type { LogStore } from '../../../runtime/logs/log-store.ts';
import type { LogRecord } from '../../../runtime/logs/record.ts';
import { createLogServer } from '../../../runtime/logs/server.ts';
import { createLogStore } from '../../../runtime/logs/store.ts';
import { silentLog } from '../../support/log.ts';
import { createLogNode, startRecordingStore, writeLines } from '../../support/log-shipping.ts';
import { startShipperProcess } from '../../support/shipper-process.ts';
import { printFigure } from '../figure.ts';

const pods = 20;
const stepMs = 100;
/** A rotation of one pod's file, in steps; the kubelet rotates at 10 MiB. */
const rotationSteps = 10;

/** What receives the lines of the shipper. */
interface Receiver {
  url: string;
  /** The times from each line's print until it was stored, in ms. */
  arrivals: number[];
  close(): Promise<void>;
}

/**
 * 100,000 lines a minute of 20 pods in the format of the container runtime, with rotations, to the shipper as a process of
 * its own. Measures what is lost, the time until a line is accepted, and the memory and CPU of the process.
 * @param seconds the duration
 */
export async function measureShipper(seconds: number): Promise<void> {
  const store = await startRecordingStore();
  const arrivals: number[] = [];
  store.answer = ({ records }) => {
    for (const { line } of records) arrivals.push(ageOf(line));
    return { status: 204 };
  };
  const receiver = { url: store.url, arrivals, close: () => store.close() };
  const { printed, elapsed, highest, cpuSeconds } = await ship(receiver, seconds);
  printFigure({ name: 'monitoring.shipper-lines', value: (printed / elapsed) * 60, unit: 'lines/min' });
  printArrivals('shipper', printed, arrivals);
  printFigure({ name: 'monitoring.shipper-memory', value: highest / 1e6, unit: 'MB', target: target('<', 64) });
  printFigure({
    name: 'monitoring.shipper-cpu',
    value: cpuSeconds / elapsed,
    unit: 'ratio',
    target: target('<', 0.15),
  });
}

/** As {@link measureShipper}, to the log store: until a line can be read, on the disk. */
export async function measureStore(seconds: number): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'svc-bench-store-'));
  // The store keeps the lines of three days.
  const clock = { ...systemClock, now: () => new Date('2026-01-02T03:05:00Z') };
  const store = createLogStore({ folder, clock, log: silentLog, maxBytes: 1024 * 1024 * 1024 });
  await store.start();
  const arrivals: number[] = [];
  const measured: LogStore = {
    ...store,
    async append(batch) {
      await store.append(batch);
      for (const record of batch.records) arrivals.push(ageOf((record as LogRecord).line));
    },
  };
  // The token of the shipper's process.
  const token = () => Promise.resolve('token');
  const tokens = { append: token, read: token };
  const server = createLogServer({ store: measured, tokens, log: silentLog, port: 0, host: '127.0.0.1' });
  const url = `http://127.0.0.1:${await server.start()}`;
  const close = async () => {
    const { invalid, expired } = store.status().dropped;
    if (invalid + expired > 0) throw new Error(`the store refused ${invalid + expired} lines`);
    await server.stop();
    await store.stop();
    rmSync(folder, { recursive: true });
  };
  const { printed } = await ship({ url, arrivals, close }, seconds);
  printArrivals('store', printed, arrivals);
}

function printArrivals(name: string, printed: number, arrivals: number[]): void {
  arrivals.sort((a, b) => a - b);
  const p95 = arrivals[Math.floor(arrivals.length * 0.95)] ?? Number.NaN;
  const lost = printed - arrivals.length;
  printFigure({ name: `monitoring.${name}-lost`, value: lost, unit: 'lines', target: target('==', 0) });
  printFigure({ name: `monitoring.${name}-p95`, value: p95, unit: 'ms', target: target('<', 5_000) });
}

const target = (operator: '<' | '==', value: number) => ({ operator, value });

/** The time since a line was printed, in ms. */
const ageOf = (line: string) => Date.now() - Number(line.slice(0, 13));

async function ship(receiver: Receiver, seconds: number) {
  const folder = mkdtempSync(join(tmpdir(), 'svc-bench-shipper-'));
  const node = createLogNode(folder);
  const folders = Array.from({ length: pods }, (_, index) => node.addPod(`shop-${index % 4}`, `api-${index}`));
  const shipper = await startShipperProcess(folder, node, receiver);
  const { pid } = shipper.process;
  try {
    let highest = 0;
    let printed = 0;
    const filler = 'x'.repeat(100);
    const begun = Date.now();
    const perStep = 100_000 / (60_000 / stepMs) / pods;
    for (let step = 1; step * stepMs <= seconds * 1000; step += 1) {
      const [from, to] = [Math.floor((step - 1) * perStep), Math.floor(step * perStep)];
      folders.forEach((pod, index) => {
        if (step % rotationSteps === 0 && (step / rotationSteps) % pods === index) {
          renameSync(join(pod, '0.log'), join(pod, `0.log.20260102-${String(step).padStart(6, '0')}`));
        }
        const lines = Array.from({ length: to - from }, () => `${Date.now()} {"level":"info","msg":"${filler}"}`);
        writeLines(pod, lines);
        printed += lines.length;
      });
      highest = Math.max(highest, residentBytes(pid));
      await new Promise((due) => setTimeout(due, Math.max(begun + step * stepMs - Date.now(), 0)));
    }
    const cpuSeconds = cpuSecondsOf(pid);
    const elapsed = (Date.now() - begun) / 1000;
    for (let wait = 0; wait < 100 && receiver.arrivals.length < printed; wait += 1) {
      await new Promise((due) => setTimeout(due, 100));
    }
    return { printed, elapsed, highest, cpuSeconds };
  } finally {
    await shipper.stop();
    await receiver.close();
    rmSync(folder, { recursive: true });
  }
}

function residentBytes(pid: number | undefined): number {
  const [, kilobytes = '0'] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return Number(kilobytes) * 1024;
}

/** The kernel counts in hundredths of a second. */
function cpuSecondsOf(pid: number | undefined): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
  return (Number(fields[11]) + Number(fields[12])) / 100;
}
