import { realpathSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { isAlive } from '../process-record.ts';
import { askApiServer } from './api-server.ts';
import { startComponents } from './bringup.ts';
import type { ComponentName } from './components.ts';
import { withLock } from './lock.ts';
import { ClusterProblem } from './problem.ts';
import { readRecords, stopAll } from './processes.ts';
import type { Layout } from './settings.ts';
import { defaultHome, layoutOf } from './settings.ts';

/** Another command takes seconds where the cluster runs already. */
const lockSeconds = 300;
const pollMilliseconds = 100;
const readyMilliseconds = 120_000;

/**
 * Kills parts of the running cluster without a word (SIGKILL), does something, and starts them again, whatever came of
 * it. Returns when the API server is ready. Meanwhile other commands wait that work on the cluster: they would take one
 * with a dead part for broken, and start a new one.
 * @throws ClusterProblem when one of them does not run, or the API server is not ready after 2 min
 */
export async function withoutComponents<T>(
  names: readonly ComponentName[],
  meanwhile: () => Promise<T>,
  home: string = defaultHome(),
): Promise<T> {
  const layout = layoutOf(realpathSync(home));
  return withLock(
    layout.lock,
    lockSeconds,
    () => undefined,
    async () => {
      const running = runningComponents(layout);
      const victims = names.map((name) => {
        const found = running.find((record) => record.name === name);
        if (found === undefined) throw new ClusterProblem(`${name} does not run`);
        return found;
      });
      await stopAll(victims, 0);
      try {
        return await meanwhile();
      } finally {
        await untilReady(layout, names);
      }
    },
  );
}

/** Starts what does not run, and once more what ended before all of it was there, as whoever keeps services up does. */
async function untilReady(layout: Layout, names: readonly ComponentName[]): Promise<void> {
  const deadline = performance.now() + readyMilliseconds;
  for (;;) {
    const running = new Set(runningComponents(layout).map(({ name }) => name));
    await startComponents(
      layout,
      names.filter((name) => !running.has(name)),
    );
    if ((await askApiServer(layout.pki, '/readyz')).body === 'ok') return;
    if (performance.now() > deadline) throw new ClusterProblem('the API server is not ready after 2 min');
    await delay(pollMilliseconds);
  }
}

function runningComponents(layout: Layout) {
  return readRecords(layout.processes).filter((record) => isAlive(record));
}
