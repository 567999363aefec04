import type { Server } from 'node:http';
import { systemClock, type Clock } from '../../domain/clock.ts';
import { http } from './builtins.ts';
import { createPodSource } from './pod-source.ts';
import { createShipper, type ShipperOptions } from './shipper.ts';

/*
 * svc-log-shipper (decision 0061). It runs on every node, so it loads as little as possible: neither the libraries of the
 * other processes, nor modules of Node that it does not use (builtins.ts).
 */

const name = 'svc-log-shipper';

const log: ShipperOptions['log'] = (level, msg, fields = {}) => {
  process.stdout.write(`${JSON.stringify({ level, time: new Date().toISOString(), name, ...fields, msg })}\n`);
};

/** The machine's clock. The global `performance` would load six modules. */
const clock: Clock = { ...systemClock, monotonic: () => Number(process.hrtime.bigint()) / 1e6 };

/** @throws Error that names the variable */
function setting(variable: string, fallback?: string): string {
  const value = process.env[variable] ?? fallback;
  if (value === undefined || value === '') throw new Error(`${variable} is not set`);
  return value;
}

function start(): void {
  const shipper = createShipper({
    logs: setting('POD_LOGS_FOLDER', '/var/log/pods'),
    folder: setting('STATE_FOLDER', '/var/lib/svc-log-shipper'),
    spoolBytes: Number(setting('SPOOL_BYTES', String(512 * 1024 * 1024))),
    store: { url: setting('LOG_STORE_URL'), tokenFile: setting('LOG_STORE_TOKEN_FILE') },
    node: setting('NODE_NAME'),
    source: createPodSource({
      host: setting('KUBERNETES_SERVICE_HOST'),
      port: setting('KUBERNETES_SERVICE_PORT', '443'),
      account: setting('SERVICE_ACCOUNT_FOLDER', '/var/run/secrets/kubernetes.io/serviceaccount'),
      node: setting('NODE_NAME'),
    }),
    clock,
    collectGarbage: () => globalThis.gc?.(),
    log,
  });
  const pages: Readonly<Record<string, () => { status: number; body: string }>> = {
    '/health': () => ({ status: shipper.healthy() ? 200 : 503, body: '' }),
    '/ready': () => ({ status: shipper.ready() ? 200 : 503, body: '' }),
    '/metrics': () => ({ status: 200, body: shipper.metrics() }),
  };
  const server: Server = http.createServer((request, response) => {
    // The rest of a body is not read: its connection ends with the response.
    const { 'content-length': length, 'transfer-encoding': coding } = request.headers;
    if (length !== undefined || coding !== undefined) response.setHeader('Connection', 'close');
    const path = (request.url ?? '').split('?', 1)[0] ?? '';
    const page = Object.hasOwn(pages, path) && request.method === 'GET' ? pages[path] : undefined;
    const { status, body } = page?.() ?? { status: 404, body: '' };
    response.writeHead(status, { 'Content-Type': 'text/plain; version=0.0.4' }).end(body);
  });
  const stop = async (signal: string) => {
    log('info', 'process stopping', { why: signal });
    server.close();
    await shipper.stop();
    process.exit(0);
  };
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => void stop(signal));
  server.listen(Number(setting('ADMIN_PORT', '8081')), () => log('info', 'process started'));
  shipper.start();
}

// When the image is built, Node stores the compiled files, so that the pod needs no memory for the compiler.
if (!process.argv.includes('--compile-only')) start();
