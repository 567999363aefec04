import { realpathSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { isAlive } from '../process-record.ts';
import { queryApiServer } from './api-server.ts';
import { connectNode, disconnectNode } from './node-network.ts';
import { killSecondNode } from './second-node.ts';
import { startComponents } from './start.ts';
import type { ComponentName } from './components.ts';
import { withLock } from './lock.ts';
import { ClusterProblem } from './problem.ts';
import { readRecords, stopAll } from './processes.ts';
import type { Layout } from './settings.ts';
import { defaultHome, layoutOf } from './settings.ts';

/** Time limit for the lock. While the cluster runs, other commands take only seconds. */
const lockSeconds = 300;
const pollMilliseconds = 100;
const readyMilliseconds = 120_000;

/** Options of a fault. */
export interface FaultOptions {
  /** The cluster's folder; default as for {@link defaultHome}. */
  readonly home?: string;
  /** Parameters that replace equal ones when the components start again. */
  readonly further?: readonly string[];
}

/** After this many seconds without a sign of life, Kubernetes calls a node lost, while {@link noticeLostNodesSoon} is in force. */
const lostNodeSeconds = 14;

/**
 * Makes Kubernetes notice a lost node after seconds, and returns a function that restores its patience, which a busy
 * machine needs: the only node must not be lost.
 */
export async function noticeLostNodesSoon(): Promise<() => Promise<void>> {
  const restart = (further?: readonly string[]) =>
    withoutComponents(['kube-controller-manager'], () => Promise.resolve(), further === undefined ? {} : { further });
  await restart([`--node-monitor-grace-period=${lostNodeSeconds}s`, '--node-monitor-period=1s']);
  return () => restart();
}

/** Kills the second node as a power failure does: the kubelet, containerd and all pods' processes end at once. */
export function killNode(): Promise<void> {
  return killSecondNode(layoutAt());
}

/** Unplugs the network cable of the second node. Its processes keep running. */
export function cutNodeOff(): Promise<void> {
  return disconnectNode();
}

/** Plugs the network cable of the second node in again. */
export function reconnectNode(): Promise<void> {
  return connectNode();
}

function layoutAt(home: string = defaultHome()): Layout {
  return layoutOf(realpathSync(home));
}

/**
 * Kills components of the running cluster with SIGKILL, calls a function, and starts them again, even if the function
 * fails. Returns when the API server is ready. Until then, other commands that change the cluster wait, since they would
 * see a broken cluster and start a new one.
 * @throws ClusterProblem when a component does not run, or the API server is not ready after 2 min
 */
export async function withoutComponents<T>(
  names: readonly ComponentName[],
  call: () => Promise<T>,
  { home, further }: FaultOptions = {},
): Promise<T> {
  const layout = layoutAt(home);
  return withLock(
    layout.lock,
    lockSeconds,
    () => undefined,
    async () => {
      const running = runningComponents(layout);
      const victims = names.map((name) => {
        const record = running.find((candidate) => candidate.name === name);
        if (record === undefined) throw new ClusterProblem(`${name} is not running`);
        return record;
      });
      await stopAll(victims, 0);
      try {
        return await call();
      } finally {
        await waitUntilReady(layout, names, further);
      }
    },
  );
}

/**
 * Starts components until the API server is ready, also those that exit before their dependencies run, or before the
 * kernel has closed the port of the process that was killed.
 */
async function waitUntilReady(
  layout: Layout,
  names: readonly ComponentName[],
  further?: readonly string[],
): Promise<void> {
  const deadline = performance.now() + readyMilliseconds;
  for (;;) {
    const running = new Set(runningComponents(layout).map(({ name }) => name));
    const missing = names.filter((name) => !running.has(name));
    try {
      await startComponents(layout, missing, further);
    } catch (error) {
      if (!(error instanceof ClusterProblem) || performance.now() > deadline) throw error;
    }
    if ((await queryApiServer(layout.pki, '/readyz')).body === 'ok') return;
    if (performance.now() > deadline) throw new ClusterProblem('the API server is not ready after 2 min');
    await delay(pollMilliseconds);
  }
}

function runningComponents(layout: Layout) {
  return readRecords(layout.processes).filter((record) => isAlive(record));
}
