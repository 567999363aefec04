import { hash } from 'node:crypto';
import type { Test } from 'tap';
import { createAppRoutes } from '../../../functions/apps/handler.ts';
import { createSourceRoutes } from '../../../functions/sources/handler.ts';
import { createSourceServer } from '../../../functions/sources/serve.ts';
import type { AuthorizeProject } from '../../../runtime/http/route.ts';
import { createBodyMemory } from '../../../runtime/http/body-memory.ts';
import { createHttpServer } from '../../../runtime/http/server.ts';
import { Problem } from '../../../runtime/domain/problem.ts';
import { projectWorkload } from '../../../runtime/records/workloads.ts';
import { testApi } from '../../support/api.ts';
import { fakeClock } from '../../support/clock.ts';
import { fakeKube } from '../../support/fake-kube.ts';
import { silentLog } from '../../support/log.ts';
import { environmentId, readyProject, settings } from '../../support/objects.ts';
import { testDatabase } from '../../support/postgres.ts';

/** The ids of the projects `shop` and `blog`. */
export const projectIds = {
  shop: '019a0000-0000-7000-8000-00000000000a',
  blog: '019a0000-0000-7000-8000-00000000000b',
} as const;

const ranks = ['viewer', 'deployer', 'admin'];

/** The management API and the server for pods, with two projects; the header `role` says what the caller is in both. */
export async function sourceWorld(t: Test) {
  const kube = fakeKube({ checkNamespaces: true });
  const builds = { image: 'r/builder:1', registry: 'r.test/builds', baseImages: {} };
  kube.seed(
    {
      apiVersion: 'platform.svc/v1',
      kind: 'PlatformConfig',
      metadata: { name: 'platform' },
      spec: { ...settings, builds },
    },
    ...readyProject('shop'),
    ...readyProject('blog'),
  );
  const { pool } = await testDatabase(t);
  const baseUrl = 'http://console.test';
  let role = 'deployer';
  const authorize: AuthorizeProject = (_session, project, needed) => {
    if (ranks.indexOf(role) < ranks.indexOf(needed.project)) {
      return Promise.reject(new Problem('forbidden', `This needs the role ${needed.project}.`));
    }
    return Promise.resolve({ projectId: projectIds[project as keyof typeof projectIds], role: 'deployer' });
  };
  const routes = [
    ...createAppRoutes({ kube, pool, clock: fakeClock(), baseUrl }),
    ...createSourceRoutes({ kube, pool, baseUrl }),
  ];
  const api = await testApi(t, { routes, authorize });
  const serveSource = createSourceServer({ pool, log: silentLog, bodies: createBodyMemory() });
  const pods = createHttpServer({
    port: 0,
    listener: async (request, response) => {
      const served = await serveSource(request, response);
      if (!served) response.writeHead(404).end();
    },
  });
  const port = await pods.start();
  t.teardown(() => pods.stop());

  const at = (project: string) => `/api/v1/projects/${project}`;
  /** Creates an app for uploads, as its controller records it. */
  const createApp = async (name: string, project: 'shop' | 'blog' = 'shop', body: object = { upload: true }) => {
    const { body: view } = await api.call('POST', `${at(project)}/apps`, { body: { name, ...body } });
    const { id } = view as { id: string };
    const where = { project, environment: 'prod', namespace: `${project}-prod`, name };
    await projectWorkload(pool, { id, environmentId, ...where, gated: false, kind: 'App' });
    return id;
  };
  const send = (contents: readonly (string | Buffer)[], project = 'shop') =>
    api.call('POST', `${at(project)}/sources/chunks`, {
      body: { chunks: contents.map((content) => Buffer.from(content).toString('base64')) },
    });
  const missing = async (digests: readonly string[], project = 'shop') =>
    ((await api.call('POST', `${at(project)}/sources/missing`, { body: { digests } })).body as { missing: string[] })
      .missing;
  const build = (app: string, body: object, project = 'shop') =>
    api.call('POST', `${at(project)}/apps/${app}/source/builds`, { body });
  const stored = async (project: keyof typeof projectIds = 'shop') => {
    const { rows } = await pool.query<{ chunks: number; bytes: number }>(
      `SELECT (SELECT count(*)::integer FROM source_chunks WHERE project_id = $1) AS chunks,
         COALESCE((SELECT bytes::integer FROM source_stores WHERE project_id = $1), 0) AS bytes`,
      [projectIds[project]],
    );
    return rows[0];
  };
  return {
    kube,
    pool,
    api,
    createApp,
    send,
    missing,
    build,
    stored,
    sourceUrl: (id: string) => `http://127.0.0.1:${port}/sources/${id}`,
    become: (next: string) => {
      role = next;
    },
  };
}

export const digestOf = (content: string | Buffer) => hash('sha256', content, 'hex');

/** A file of one chunk, as a request describes it. */
export const fileOf = (path: string, content: string | Buffer) => ({
  path,
  chunks: [digestOf(content)],
  size: Buffer.byteLength(content),
});
