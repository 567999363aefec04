import { mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createLogNode, startRecordingStore, writeLines } from '../../support/log-shipping.ts';
import { startShipperProcess } from '../../support/shipper-process.ts';
import { printFigure } from '../figure.ts';

const pods = 20;
const stepMs = 100;
/** A rotation of one pod's file, in steps; the kubelet rotates at 10 MiB. */
const rotationSteps = 10;

/**
 * 100,000 lines a minute of 20 pods in the format of the container runtime, with rotations, to the shipper as a process of
 * its own. Measures what is lost, the time until a line is in the store, and the memory and CPU of the process.
 * @param seconds the duration
 */
export async function measureShipper(seconds: number): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'svc-bench-shipper-'));
  const node = createLogNode(folder);
  const folders = Array.from({ length: pods }, (_, index) => node.addPod(`shop-${index % 4}`, `api-${index}`));
  const store = await startRecordingStore();
  const arrivals: number[] = [];
  store.answer = ({ records }) => {
    const now = Date.now();
    for (const { line } of records) arrivals.push(now - Number(line.slice(0, 13)));
    return { status: 204 };
  };
  const shipper = await startShipperProcess(folder, node, store);
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
    for (let wait = 0; wait < 100 && store.records.length < printed; wait += 1) {
      await new Promise((due) => setTimeout(due, 100));
    }
    arrivals.sort((a, b) => a - b);
    const p95 = arrivals[Math.floor(arrivals.length * 0.95)] ?? Number.NaN;
    const target = (operator: '<' | '==', value: number) => ({ operator, value });
    printFigure({ name: 'monitoring.shipper-lines', value: (printed / elapsed) * 60, unit: 'lines/min' });
    printFigure({
      name: 'monitoring.shipper-lost',
      value: printed - store.records.length,
      unit: 'lines',
      target: target('==', 0),
    });
    printFigure({ name: 'monitoring.shipper-p95', value: p95, unit: 'ms', target: target('<', 5_000) });
    printFigure({ name: 'monitoring.shipper-memory', value: highest / 1e6, unit: 'MB', target: target('<', 64) });
    printFigure({
      name: 'monitoring.shipper-cpu',
      value: cpuSeconds / elapsed,
      unit: 'ratio',
      target: target('<', 0.15),
    });
  } finally {
    await shipper.stop();
    await store.close();
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
