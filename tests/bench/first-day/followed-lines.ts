import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { followLogLines } from '../../../runtime/api/pod-log-lines.ts';
import type { Pod } from '../../../runtime/contracts/pod.ts';
import { systemClock as clock } from '../../../runtime/domain/clock.ts';
import type { KubeClient } from '../../../runtime/kube/kube-client.ts';
import { printFigure } from '../figure.ts';

const printed = 1_000_000;
const linesPerChunk = 1_000;
/** The first stream breaks off after this many lines, so that the rest has to be told from what repeats. */
const brokenAfter = 400_000;
const svc = join(import.meta.dirname, '../../../cli/svc.js');

/**
 * Lines that `svc app logs -f` prints of a million that a container printed, read by the API's reader of pods' logs and the
 * command line in a process of its own, across a stream that breaks off. Once the time stamps increase, and once all lines
 * have the same one. Needs no platform.
 */
export async function run(): Promise<void> {
  for (const [name, stamp] of [
    ['first-day.followed-lines', (index: number) => new Date(start + index).toISOString()],
    ['first-day.followed-lines.one-time', () => new Date(start).toISOString()],
  ] as const) {
    const startedAt = performance.now();
    const value = await followed(stamp);
    printFigure({ name, value, unit: 'lines', target: { operator: '==', value: printed } });
    const seconds = (performance.now() - startedAt) / 1000;
    printFigure({ name: `${name}.rate`, value: printed / seconds, unit: 'lines/s' });
  }
}

const start = Date.parse('2026-01-01T00:00:00Z');

/** @returns how many lines were printed in their order, each once; 0 if one was repeated or out of order */
async function followed(stamp: (index: number) => string): Promise<number> {
  const kube = containerOf(stamp);
  let requests = 0;
  const server = createServer((request, response) => {
    const since = new URL(request.url ?? '', 'http://api.test').searchParams.get('sinceTime');
    void answer(response, ++requests, since === null ? undefined : new Date(since)).catch(() => response.destroy());
  });
  const answer = async (response: ServerResponse, number: number, since: Date | undefined) => {
    response.writeHead(200, { 'content-type': 'application/x-ndjson' });
    const signal = new AbortController();
    response.once('close', () => signal.abort());
    const source = { namespace: 'shop-prod', labelSelector: 'app=api', container: 'app' };
    let sent = 0;
    for await (const line of followLogLines(
      kube,
      source,
      { tail: undefined, since },
      { clock, signal: signal.signal },
    )) {
      if (!response.write(`${JSON.stringify(line)}\n`)) await once(response, 'drain');
      if (number === 1 && ++sent === brokenAfter) {
        response.destroy();
        return;
      }
    }
  };
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const home = mkdtempSync(join(tmpdir(), 'svc-follow-'));
  const child = spawn(process.execPath, [svc, 'app', 'logs', 'api', '-f', '--project', 'shop'], {
    env: {
      PATH: process.env['PATH'],
      HOME: home,
      SVC_API: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
      SVC_TOKEN: 'svcs_bench',
    },
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const ended = once(child, 'close');
  try {
    return await countInOrder(child.stdout);
  } finally {
    child.kill();
    await ended;
    server.closeAllConnections();
    server.close();
    rmSync(home, { recursive: true, force: true });
  }
}

/** Reads until the last line came, or none for a while. */
async function countInOrder(output: NodeJS.ReadableStream): Promise<number> {
  let count = 0;
  let broken = false;
  let lastAt = performance.now();
  const lines = createInterface({ input: output });
  const finished = new Promise<void>((resolve) => {
    lines.on('line', (line) => {
      lastAt = performance.now();
      if (line.endsWith(` line ${count}`)) count++;
      else broken = true;
      if (count === printed) resolve();
    });
  });
  const silent = (async () => {
    while (performance.now() - lastAt < 30_000) await sleep(1_000);
  })();
  await Promise.race([finished, silent]);
  // A line that comes after the last one would be a repetition.
  await sleep(2_000);
  return broken ? 0 : count;
}

/** The API server's view of one container that has printed all its lines and keeps running. */
function containerOf(stamp: (index: number) => string): Pick<KubeClient, 'list' | 'stream'> {
  const pod = {
    metadata: { name: 'app-api-1', namespace: 'shop-prod' },
    status: { containerStatuses: [{ name: 'app', restartCount: 0, state: { running: {} } }] },
  } as unknown as Pod;
  return {
    list: () => Promise.resolve({ items: [pod] } as never),
    async *stream(path, signal) {
      const since = Date.parse(new URL(path, 'http://kube.test').searchParams.get('sinceTime') ?? '1970-01-01');
      for (let first = 0; first < printed; first += linesPerChunk) {
        const chunk = Array.from({ length: linesPerChunk }, (_, index) => first + index)
          .filter((index) => Date.parse(stamp(index)) >= since)
          .map((index) => `${stamp(index)} line ${index}\n`);
        if (chunk.length > 0) yield Buffer.from(chunk.join(''));
      }
      await new Promise((resolve) => signal?.addEventListener('abort', resolve, { once: true }));
    },
  };
}
