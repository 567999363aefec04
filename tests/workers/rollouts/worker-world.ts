import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Test } from 'tap';
import type { App } from '../../../runtime/contracts/resources/app.ts';
import { kinds } from '../../../runtime/contracts/resources/kinds.ts';
import type { Deployment } from '../../../runtime/records/deployments.ts';
import { fakeKube, type FakeKube } from '../../support/fake-kube.ts';
import { startProcess } from '../../support/platform-process.ts';
import { testDatabase } from '../../support/postgres.ts';
import { testRedis } from '../../support/redis.ts';
import { serveApps } from './app-api-server.ts';
import type { TestApp } from './rollout-world.ts';

/** The key ring of these processes, in the form of its file. */
export const testKeys = JSON.stringify({ current: 'k1', keys: { k1: Buffer.alloc(32, 7).toString('base64') } });

/** Stands in for the App controller and its pods: every release serves at once. */
export function pretendPodsServe(t: Test, kube: FakeKube): void {
  const stop = new AbortController();
  t.teardown(() => stop.abort());
  const follow = async () => {
    for await (const { object } of kube.watch<App>(kinds.App, { resourceVersion: '0' }, stop.signal)) {
      const app = await kube.get<App>(kinds.App, object.metadata.name, object.metadata.namespace);
      const release = app?.spec.release;
      if (!app || !release || app.status?.release?.generation === release.generation) continue;
      const { generation, deploymentId } = release;
      const status = { release: { generation, deploymentId, phase: 'available' as const } };
      // A conflict means that a newer state follows.
      await kube.replaceStatus<App>({ ...app, status }).catch(() => undefined);
    }
  };
  void follow();
}

/** Waits until the newest deployment has ended. */
export async function untilEnded(app: TestApp): Promise<Deployment[]> {
  for (;;) {
    const entries = await app.history();
    if (entries[0]?.endedAt) return entries;
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
}

/** PostgreSQL, Redis and Kubernetes as svc-workers sees them, and svc-workers as a separate process. */
export async function workerWorld(t: Test) {
  const [database, redis] = await Promise.all([testDatabase(t), testRedis(t)]);
  const { pool } = database;
  const kube = fakeKube();
  const kubeconfig = await serveApps(t, kube);
  const failpointsDir = join(dirname(kubeconfig), 'failpoints');
  mkdirSync(failpointsDir);
  const keysFile = join(dirname(kubeconfig), 'keys.json');
  writeFileSync(keysFile, testKeys);
  pretendPodsServe(t, kube);

  const startWorkers = () =>
    startProcess(t, 'workers/main.ts', {
      ADMIN_PORT: '0',
      LOG_LEVEL: 'debug',
      SVC_FAILPOINTS_DIR: failpointsDir,
      DATABASE_URL: database.url,
      REDIS_URL: redis.url,
      KUBECONFIG: kubeconfig,
      ENCRYPTION_KEYS_FILE: keysFile,
    });

  return { pool, kube, redis, startWorkers, arm: (name: string) => writeFileSync(join(failpointsDir, name), '') };
}
