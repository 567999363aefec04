import { join } from 'node:path';
import { warmLabel } from '../../domain/labels.ts';
import { isLabel, type LogRecord } from '../record.ts';
import { fs } from './builtins.ts';
import { createContainerLog, type ContainerEvents, type ContainerLog } from './container-log.ts';
import { watchFolder, type WatchedFolder } from './folder.ts';
import type { PendingBudget } from './line-joiner.ts';
import { logWorkloadOf, type PodMetadata, type PodSource } from './pod-source.ts';
import type { PodState } from './state.ts';

/** `<namespace>_<pod>_<uid>`, as the kubelet names the folders in /var/log/pods. */
const folderShape = /^([a-z0-9-]{1,63})_([a-z0-9.-]{1,253})_([0-9a-f-]{8,64})$/;
/** Times to ask for an unknown pod: the API server's list may be older than the folder. */
const attemptsMax = 6;
const firstPauseMs = 1_000;
const pauseMaxMs = 30_000;

/** One container whose log is read. */
export interface ShippedContainer {
  namespace: string;
  log: ContainerLog;
}

/** Where a line comes from. */
export type LineSource = Pick<LogRecord, 'namespace' | 'pod' | 'container' | 'workload'>;

export interface PodFoldersOptions {
  /** The kubelet's folder of pods' logs. */
  root: string;
  source: PodSource;
  budget: PendingBudget;
  /** The pods of the last run. */
  state: Readonly<Record<string, PodState>>;
  events: (source: LineSource) => ContainerEvents;
  /** Called when the API server does not answer. */
  failed: (error: unknown) => void;
}

/** Finds the logs of the platform's pods on this node. */
export interface PodFolders {
  /** Looks for new and deleted pods and containers. @param now a monotonic time */
  scan(now: number): void;
  containers(): readonly ShippedContainer[];
  state(): Record<string, PodState>;
  close(): void;
}

interface Pod {
  folder: WatchedFolder;
  path: string;
  source: Omit<LineSource, 'container'>;
  containers: Map<string, ContainerLog>;
  saved: PodState['containers'];
  deleted: boolean;
}

/** A folder of a pod about which nothing is known. */
interface Unknown {
  attempts: number;
  /** A monotonic time. */
  dueAt: number;
  /** A generic pod, which prints nothing before it becomes one of a function (decision 0098). */
  generic?: boolean;
}

/** Whether a container of a pod has printed anything. */
function hasPrinted(path: string): boolean {
  try {
    return fs.readdirSync(path).some((container) => fs.lstatSync(join(path, container, '0.log')).size > 0);
  } catch {
    return false;
  }
}

export function createPodFolders({ root, source, budget, state, events, failed }: PodFoldersOptions): PodFolders {
  const watched = watchFolder(root);
  const pods = new Map<string, Pod>();
  const unknown = new Map<string, Unknown>();
  let containers: ShippedContainer[] = [];
  let asking = false;
  let names = new Set<string>();

  const addPod = (name: string, workload: LogRecord['workload'], saved: PodState['containers']) => {
    const [, namespace = '', pod = ''] = folderShape.exec(name) ?? [];
    const path = join(root, name);
    pods.set(name, {
      folder: watchFolder(path),
      path,
      source: { namespace, pod, workload },
      containers: new Map(),
      saved,
      deleted: false,
    });
  };

  const scanPod = (pod: Pod, now: number) => {
    const entries = pod.folder.entries();
    pod.deleted = entries === 'missing';
    if (typeof entries !== 'string') {
      for (const entry of entries) {
        if (!entry.isDirectory() || !isLabel(entry.name) || pod.containers.has(entry.name)) continue;
        const log = createContainerLog({
          folder: join(pod.path, entry.name),
          namespace: pod.source.namespace,
          budget,
          events: events({ ...pod.source, container: entry.name }),
          state: pod.saved[entry.name],
          now,
        });
        delete pod.saved[entry.name];
        pod.containers.set(entry.name, log);
      }
    }
    for (const [name, log] of pod.containers) {
      log.scan();
      if (log.ended()) pod.containers.delete(name);
    }
  };

  const resolve = (listed: readonly PodMetadata[], now: number) => {
    const byFolder = new Map(listed.map((pod) => [`${pod.namespace}_${pod.name}_${pod.uid}`, pod]));
    for (const [name, entry] of unknown) {
      const pod = byFolder.get(name);
      const workload = pod && logWorkloadOf(pod);
      if (workload && names.has(name)) {
        unknown.delete(name);
        addPod(name, workload, {});
      } else if (pod?.labels[warmLabel] !== undefined) {
        entry.generic = true;
        entry.dueAt = hasPrinted(join(root, name)) ? now + firstPauseMs : Infinity;
      } else if (entry.dueAt <= now) {
        entry.attempts += 1;
        const pause = Math.min(firstPauseMs * 2 ** entry.attempts, pauseMaxMs);
        entry.dueAt = pod || entry.attempts >= attemptsMax ? Infinity : now + pause;
      }
    }
  };

  let failures = 0;
  let askAt = 0;
  const ask = async (now: number) => {
    asking = true;
    try {
      resolve(await source.list(), now);
      failures = 0;
    } catch (error) {
      failures += 1;
      askAt = now + Math.min(firstPauseMs * 2 ** failures, pauseMaxMs);
      failed(error);
    }
    asking = false;
  };

  const scanRoot = (now: number) => {
    const entries = watched.entries();
    // An unreadable folder says nothing about its pods.
    if (entries === 'unchanged' || entries === 'missing') return;
    names = new Set(
      entries.flatMap((entry) => (entry.isDirectory() && folderShape.test(entry.name) ? [entry.name] : [])),
    );
    for (const name of unknown.keys()) if (!names.has(name)) unknown.delete(name);
    for (const name of names) {
      if (pods.has(name) || unknown.has(name)) continue;
      const saved = state[name];
      if (saved) addPod(name, saved.workload, saved.containers);
      else unknown.set(name, { attempts: 0, dueAt: now });
    }
  };

  return {
    scan(now) {
      scanRoot(now);
      for (const [name, entry] of unknown) {
        if (entry.generic === true && entry.dueAt === Infinity && hasPrinted(join(root, name))) entry.dueAt = now;
      }
      const due = [...unknown.values()].some(({ dueAt }) => dueAt <= now);
      if (due && !asking && now >= askAt) void ask(now);
      for (const [name, pod] of pods) {
        scanPod(pod, now);
        if (pod.deleted && pod.containers.size === 0) pods.delete(name);
      }
      containers = [...pods.values()].flatMap((pod) =>
        [...pod.containers.values()].map((log) => ({ namespace: pod.source.namespace, log })),
      );
    },
    containers: () => containers,
    state: () =>
      Object.fromEntries(
        [...pods].map(([name, pod]) => [
          name,
          {
            workload: pod.source.workload,
            containers: Object.fromEntries([...pod.containers].map(([container, log]) => [container, log.state()])),
          },
        ]),
      ),
    close() {
      for (const pod of pods.values()) for (const log of pod.containers.values()) log.close();
    },
  };
}
