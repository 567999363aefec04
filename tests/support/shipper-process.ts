import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join, resolve } from 'node:path';
import { selfSignedCertificate } from '../../infra/local/apiserver/certificate.ts';
import { shipperArguments, shipperVariables } from '../../infra/manifests/monitoring/log-shipper.ts';
import type { LogNode } from './log-shipping.ts';

const root = resolve(import.meta.dirname, '../..');

/** A log shipper as a process, with the options of its pods, and an API server that lists the node's pods. */
export interface ShipperProcess {
  process: ChildProcess;
  /** Queries of the requests to the API server, and their header `Accept`. */
  listRequests: { query: URLSearchParams; accept: string | undefined }[];
  /** Sends SIGTERM. @returns the exit code */
  stop(): Promise<unknown>;
}

/** @param folder for its state and credentials */
export async function startShipperProcess(
  folder: string,
  node: LogNode,
  store: { url: string },
): Promise<ShipperProcess> {
  const account = join(folder, 'account');
  mkdirSync(account);
  const { key, certificate } = selfSignedCertificate('api', { names: [], addresses: ['127.0.0.1'] }, new Date());
  const listRequests: ShipperProcess['listRequests'] = [];
  const api = createServer({ key, cert: certificate }, (request, response) => {
    listRequests.push({
      query: new URL(request.url ?? '', 'https://api').searchParams,
      accept: request.headers.accept,
    });
    response.end(JSON.stringify({ items: node.pods.map((metadata) => ({ metadata })) }));
  });
  await new Promise<void>((listening) => api.listen(0, '127.0.0.1', listening));
  writeFileSync(join(account, 'ca.crt'), certificate);
  writeFileSync(join(account, 'token'), 'token');
  const env = {
    NODE_COMPILE_CACHE: join(folder, 'compiled'),
    POD_LOGS_FOLDER: node.logs,
    STATE_FOLDER: join(folder, 'state'),
    LOG_STORE_URL: store.url,
    LOG_STORE_TOKEN_FILE: join(account, 'token'),
    NODE_NAME: 'node-1',
    KUBERNETES_SERVICE_HOST: '127.0.0.1',
    KUBERNETES_SERVICE_PORT: String((api.address() as AddressInfo).port),
    SERVICE_ACCOUNT_FOLDER: account,
    ADMIN_PORT: '0',
    ...shipperVariables,
  };
  const start = (...args: string[]) =>
    spawn(process.execPath, [...shipperArguments, ...args], { env, cwd: root, stdio: ['ignore', 'ignore', 'inherit'] });
  // As when the image is built.
  await once(start('--compile-only'), 'exit');
  const child = start();
  return {
    process: child,
    listRequests,
    async stop() {
      const ended = once(child, 'exit');
      child.kill('SIGTERM');
      const [code] = (await ended) as unknown[];
      api.closeAllConnections();
      api.close();
      return code;
    },
  };
}
