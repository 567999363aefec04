import type { Pool } from 'pg';
import { createFunctionRoutes } from '../../functions/functions/handler.ts';
import { createProjectRoutes } from '../../functions/projects/handler.ts';
import { createAuthenticate } from '../../functions/sessions/authenticate.ts';
import { createVolumeRoutes } from '../../functions/volumes/handler.ts';
import { createProjectAccess } from '../../runtime/api/project-access.ts';
import { systemClock } from '../../runtime/domain/clock.ts';
import type { Route } from '../../runtime/http/route.ts';
import { createObjectCopies } from '../../runtime/kube/object-copies.ts';
import { createAuditRecorder } from '../../runtime/records/audit-entries.ts';
import { testApi, type TestApi } from '../support/api.ts';
import { settle } from '../support/clock.ts';
import type { FakeKube } from '../support/fake-kube.ts';
import { silentLog } from '../support/log.ts';
import { watchedKube, type WatchedKube } from '../support/watched-kube.ts';

/** A replica of the API that reads from copies. */
export interface ReadReplica extends Pick<WatchedKube, 'hold' | 'resume' | 'cut'> {
  api: TestApi;
  /** Waits until the copies have everything that was written before. */
  synced(): Promise<void>;
}

/** Starts a replica with the routes of projects, volumes and functions, and its copies of the objects. */
export async function readReplica(
  t: { teardown(end: () => unknown): void },
  { kube: fake, pool }: { kube: FakeKube; pool: Pool },
): Promise<ReadReplica> {
  const clock = systemClock;
  const { kube: watched, ...interruptions } = watchedKube(fake);
  const copies = createObjectCopies({ kube: watched, clock, log: silentLog });
  const kube = { ...watched, copies };
  const { authorize, visibleProjects } = createProjectAccess({ kube, pool });
  const members = {
    countFounder: () => Promise.resolve(),
    insertFounder: async (projectId: string, userId: string) =>
      void (await pool.query(`INSERT INTO project_members (project_id, user_id, role) VALUES ($1, $2, 'admin')`, [
        projectId,
        userId,
      ])),
    forget: () => Promise.resolve(),
  };
  const routes: Route[] = [
    ...createProjectRoutes({ kube, visibleProjects, members }),
    ...createVolumeRoutes({ kube }),
    ...createFunctionRoutes({ kube, pool, visibleProjects, clock, baseUrl: 'http://console.test' }),
  ];
  const api = await testApi(t, {
    routes,
    authenticate: createAuthenticate({ pool, clock, baseUrl: 'http://console.test' }),
    authorize,
    recordAudit: createAuditRecorder({ pool, clock }),
  });
  t.teardown(() => copies.stop());
  copies.start();
  return {
    api,
    ...interruptions,
    async synced() {
      await copies.whenSynced();
      await settle();
    },
  };
}
