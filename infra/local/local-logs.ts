import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import type { Logger } from 'pino';
import type { ObjectMeta } from '../../runtime/contracts/kubernetes.ts';
import type { Clock } from '../../runtime/domain/clock.ts';
import { appLabel, buildNamespace, systemNamespace } from '../../runtime/domain/labels.ts';
import { workloadOfLabels } from '../../runtime/domain/workload-labels.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import { readSecretText } from '../../runtime/kube/secret-text.ts';
import type { LogRecord } from '../../runtime/logs/record.ts';
import { createLogServer } from '../../runtime/logs/server.ts';
import { StoreBusy, type LogStore } from '../../runtime/logs/log-store.ts';
import { createLogStore } from '../../runtime/logs/store.ts';
import { createPeriodicTask } from '../../runtime/process/periodic-task.ts';
import { systemSecrets } from '../manifests/platform/secrets.ts';
import type { CollectLines } from './node/logs.ts';
import type { LocalStore } from './stores.ts';

/** Maximum bytes of the stored lines. */
const maxBytes = 1024 * 1024 * 1024;
const sendMs = 200;
/** Lines of one namespace that wait for the store, and their characters; it drops further ones. */
const waitingMax = 5_000;
const waitingMaxLength = 1024 * 1024;
/** How long a token is used before it is read again. */
const tokenMs = 10_000;

/** The log store of the embedded cluster: what the node's containers print, and a server for console-api. */
export interface LocalLogs extends LocalStore {
  /**
   * Starts the server, which refuses until the store is enabled: its port must not be free for a pod, which would get the
   * token. @returns its port @throws Error when the port is in use
   */
  start(): Promise<number>;
  stop(): Promise<void>;
  /** Lines of a disabled store are dropped. */
  collect: CollectLines;
}

/** @param options.folder where the lines are stored @param options.port 0 selects a free port */
export function createLocalLogs(options: {
  kube: Pick<KubeClient, 'get'>;
  folder: string;
  port: number;
  clock: Clock;
  log: Logger;
}): LocalLogs {
  const { kube, folder, port, clock } = options;
  const log = options.log.child({ part: 'log store' });
  /** Undefined while it is disabled. */
  let store: LogStore | undefined;
  const token = createTokenReader(kube, clock);
  const tokens = { append: () => Promise.resolve(undefined), read: token };
  const current = () => {
    if (store) return store;
    throw new StoreBusy('stopped');
  };
  const server = createLogServer({
    store: {
      append: async (batch) => current().append(batch),
      read: async (query, signal, budget) => current().read(query, signal, budget),
      feed: async (position, signal) => current().feed(position, signal),
      status: () => current().status(),
      isReady: () => store?.isReady() ?? false,
    },
    tokens,
    log,
    port,
    host: '127.0.0.1',
  });
  /** The lines of each namespace. */
  let waiting = new Map<string, { records: LogRecord[]; length: number }>();

  const send = async () => {
    const namespaces = waiting.values();
    waiting = new Map();
    const target = store;
    if (!target) return;
    for (const { records } of namespaces) {
      await target.append({ records }).catch((error: unknown) => {
        target.countDropped('disk_full', records.length);
        log.debug({ err: error }, 'lines were not stored');
      });
    }
  };
  const disable = async () => {
    await send();
    const last = store;
    store = undefined;
    await last?.stop();
  };
  const sender = createPeriodicTask({
    clock,
    pauseMs: () => sendMs,
    run: send,
    onError: (error) => log.error({ err: error }, 'lines were not sent to the store'),
  });

  return {
    async start() {
      const serverPort = await server.start();
      sender.start();
      return serverPort;
    },
    async stop() {
      await sender.stop();
      await server.stop();
      await disable();
    },
    async enable() {
      if (store) return;
      // Not flushed to the disk at each batch: a machine that loses its power loses the lines of the last seconds.
      const next = createLogStore({ folder, maxBytes, clock, log, sync: false });
      await next.start();
      store = next;
    },
    disable,
    hasData: () => existsSync(folder),
    deleteData: () => rm(folder, { recursive: true, force: true }),
    collect({ metadata, container, stream, time }, lines) {
      if (!store) return;
      const { namespace = '', name: pod } = metadata;
      const pending = waiting.get(namespace) ?? { records: [], length: 0 };
      waiting.set(namespace, pending);
      const { records } = pending;
      const workload = logWorkloadOf(metadata);
      for (const line of lines) {
        if (records.length >= waitingMax || pending.length + line.length > waitingMaxLength) {
          store.countDropped('disk_full', 1);
          continue;
        }
        records.push({ namespace, pod, container, workload, time: time.replace('Z', '000000Z'), stream, line });
        pending.length += line.length;
      }
    },
  };
}

/** What a pod belongs to, by labels that only the platform sets. */
function logWorkloadOf({ namespace, name, labels = {} }: ObjectMeta): LogRecord['workload'] {
  const kind = namespace === buildNamespace ? 'build' : 'platform';
  return workloadOfLabels(labels) ?? { kind, name: labels[appLabel] ?? name };
}

/** Reads the token that `svc install` has generated. */
function createTokenReader(kube: Pick<KubeClient, 'get'>, clock: Clock): () => Promise<string | undefined> {
  const { name, key } = systemSecrets.logStore;
  let last: { value: string; at: number } | undefined;
  return async () => {
    if (last && clock.monotonic() - last.at < tokenMs) return last.value;
    const value = await readSecretText(kube, { namespace: systemNamespace, name, key });
    last = value === undefined ? undefined : { value, at: clock.monotonic() };
    return value;
  };
}
