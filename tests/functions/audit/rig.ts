import type { Test } from 'tap';
import { createAuditRoutes } from '../../../functions/audit/handler.ts';
import { createMemberRoutes } from '../../../functions/members/handler.ts';
import { createAuthenticate } from '../../../functions/sessions/authenticate.ts';
import { createTokenRoutes } from '../../../functions/tokens/handler.ts';
import { createProjectAccess } from '../../../runtime/api/project-access.ts';
import { systemClock as clock } from '../../../runtime/domain/clock.ts';
import { newId } from '../../../runtime/domain/ids.ts';
import { route, type Route } from '../../../runtime/http/route.ts';
import { createAuditRecorder, type RecordAudit } from '../../../runtime/records/audit-entries.ts';
import { testApi } from '../../support/api.ts';
import { fakeKube } from '../../support/fake-kube.ts';
import { recordingLog } from '../../support/log.ts';
import { seedProject } from '../../support/objects.ts';
import { signedIn } from '../../support/people.ts';
import { testDatabase } from '../../support/postgres.ts';

const baseUrl = 'http://console.test';
export const shop = '/api/v1/projects/shop';

/** A route that is audited as a change of the app in its path, with the fields that `fieldsOf` returns. */
export function auditedRoute(method: 'GET' | 'POST', fieldsOf: () => Record<string, unknown> = () => ({})): Route {
  return route({
    method,
    path: '/projects/:project/apps/:app/change',
    access: method === 'GET' ? { project: 'viewer' } : { project: 'deployer', scope: 'write', environment: 'handler' },
    tag: 'test',
    summary: 'Changes.',
    audit: method === 'GET' ? 'secret.reveal' : 'app.update',
    replies: { 204: null, 200: null },
    handle: () =>
      Promise.resolve({ status: method === 'GET' ? 200 : 204, audit: { environment: 'prod', ...fieldsOf() } }),
  });
}

/** The routes of the audit log on a real database, those of members and tokens, and the projects `shop` and `blog`. */
export async function auditRig(t: Test, options: { routes?: Route[]; recordAudit?: RecordAudit } = {}) {
  const { pool } = await testDatabase(t);
  const kube = fakeKube();
  const [projectId, otherId] = [newId(), newId()];
  seedProject(kube, { name: 'shop', id: projectId });
  seedProject(kube, { name: 'blog', id: otherId });
  const recorded = recordingLog();
  const api = await testApi(t, {
    log: recorded.log,
    routes: [
      ...createAuditRoutes({ pool }),
      ...createMemberRoutes({ pool }),
      ...createTokenRoutes({ kube, pool, clock }),
      ...(options.routes ?? []),
    ],
    authenticate: createAuthenticate({ pool, clock, baseUrl }),
    authorize: createProjectAccess({ kube, pool }).authorize,
    recordAudit: options.recordAudit ?? createAuditRecorder({ pool, clock }),
  });
  const boss = await signedIn(pool, 'boss', { projects: { [projectId]: 'admin' } });
  const blogger = await signedIn(pool, 'blogger', { projects: { [otherId]: 'admin' } });
  const root = await signedIn(pool, 'root', { role: 'admin' });
  const call = (method: string, path: string, { headers } = boss, body?: unknown) =>
    api.call(method, path, { headers, ...(body !== undefined && { body }) });
  /** The entries that a person is shown. */
  const entries = async (path = `${shop}/audit`, person = boss): Promise<Entry[]> =>
    (await call('GET', path, person)).body.items;
  const stored = async () => (await pool.query('SELECT * FROM audit_entries ORDER BY id')).rows as Entry[];
  return { pool, kube, api, recorded, projectId, otherId, boss, blogger, root, call, entries, stored };
}

type Entry = Record<string, unknown> & { action: string };
