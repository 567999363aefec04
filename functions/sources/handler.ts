import type { Pool } from 'pg';
import { deploymentAccepted } from '../../runtime/contracts/api/apps.ts';
import {
  chunksMissing,
  chunksSent,
  chunksStored,
  chunksWanted,
  sourceBuildCreate,
  sourceBuilds,
} from '../../runtime/contracts/api/sources.ts';
import type { App } from '../../runtime/contracts/resources/app.ts';
import type { BuildSettings } from '../../runtime/contracts/resources/platform-config.ts';
import { baseImagesOf, languages, mayHavePlan, onlyDockerfile } from '../../runtime/domain/folder-plan.ts';
import { checkBuildPath, gitSourceConfigured } from '../../runtime/domain/git-source.ts';
import { Problem } from '../../runtime/domain/problem.ts';
import { checkSourceFiles, chunkBytes } from '../../runtime/domain/source-files.ts';
import { accept } from '../../runtime/api/accept.ts';
import { objectRoutes } from '../../runtime/api/object-routes.ts';
import { projectIdOf, route, type Route } from '../../runtime/http/route.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import { storeChunks } from '../../runtime/records/source-chunks.ts';
import { insertDeploymentSource, missingChunks } from '../../runtime/records/sources.ts';
import { workloadIdOf } from '../../runtime/workloads/objects.ts';
import { readPlatformConfig } from '../../runtime/workloads/platform-config.ts';

export interface SourceDependencies {
  kube: KubeClient;
  pool: Pool;
  /** The public address of the management API. */
  baseUrl: string;
}

const tag = 'sources';

/** Chunks belong to the whole project: a token of one environment may store them, and only builds there. */
const projectChunks = { project: 'deployer', scope: 'deploy', environment: 'handler' } as const;

/** Largest bodies in bytes: chunks of 3 MiB in base64, and the files of the largest folder. */
const chunksBodyLimit = 4 * 1024 * 1024;
const filesBodyLimit = 4 * 1024 * 1024;

/** Uploaded folders: their content, which each project stores for itself, and builds from them. */
export function createSourceRoutes({ kube, pool, baseUrl }: SourceDependencies): Route[] {
  const apps = objectRoutes<App>(kube, 'App');
  return [
    route({
      method: 'GET',
      path: '/projects/:project/sources',
      access: projectChunks,
      tag,
      summary:
        'Shows what the platform builds uploaded folders from, so that a folder that it refuses is not uploaded.',
      replies: { 200: sourceBuilds },
      async handle() {
        const { maker, baseImages } = await requireBuilder(kube);
        if (maker === 'folder') return { status: 200, body: { dockerfiles: false, languages: [...languages] } };
        const buildable = languages.filter((language) => baseImagesOf(language, baseImages));
        return { status: 200, body: { dockerfiles: true, languages: buildable } };
      },
    }),
    route({
      method: 'POST',
      path: '/projects/:project/sources/missing',
      access: projectChunks,
      tag,
      summary: 'Returns which chunks of files the project does not store, so that only those are uploaded.',
      body: chunksWanted,
      bodyLimit: 512 * 1024,
      replies: { 200: chunksMissing },
      async handle(request) {
        const missing = await missingChunks(pool, projectIdOf(request), request.body.digests);
        return { status: 200, body: { missing } };
      },
    }),
    route({
      method: 'POST',
      path: '/projects/:project/sources/chunks',
      access: projectChunks,
      tag,
      summary: 'Stores chunks of files for later builds of the project. Sending a chunk again changes nothing.',
      body: chunksSent,
      bodyLimit: chunksBodyLimit,
      replies: { 200: chunksStored },
      async handle(request) {
        const contents = request.body.chunks.map((chunk) => Buffer.from(chunk, 'base64'));
        const large = contents.findIndex(({ length }) => length > chunkBytes);
        if (large >= 0) {
          throw new Problem('source_too_large', `A chunk has more than ${chunkBytes} bytes; split the file.`, {
            details: { chunk: large, limit: chunkBytes },
          });
        }
        const digests = await storeChunks(pool, projectIdOf(request), contents);
        return { status: 200, body: { digests } };
      },
    }),
    apps.route({
      method: 'POST',
      path: '/source/builds',
      access: { project: 'deployer', scope: 'deploy' },
      tag,
      summary: 'Builds and deploys an uploaded folder, whose chunks the project stores.',
      audit: 'source.build',
      body: sourceBuildCreate,
      bodyLimit: filesBodyLimit,
      replies: { 202: deploymentAccepted },
      async handle(request) {
        const { body, environment, actor, name, findLiving } = request;
        const { files, dockerfile, commit, dirty, commitMessage, branch } = body;
        checkSourceFiles(files);
        if (dockerfile !== undefined) checkBuildPath('dockerfile', dockerfile);
        const projectId = projectIdOf(request);
        const app = await findLiving();
        if (app.spec.git) throw gitSourceConfigured(name);
        checkMaker(await requireBuilder(kube), new Set(files.map(({ path }) => path)), dockerfile);
        return accept({
          pool,
          baseUrl,
          project: environment.project,
          deployment: {
            workloadId: workloadIdOf(app),
            trigger: 'manual',
            commit: commit === undefined || !dirty ? commit : `${commit}-dirty`,
            commitMessage,
            branch,
            actor,
          },
          complete: (client, id) =>
            insertDeploymentSource(client, id, { projectId, files, dockerfile: dockerfile ?? null }),
        });
      },
    }),
  ];
}

/** @throws Problem `invalid_value` for a folder of which the embedded cluster can build nothing, because it has a Dockerfile only */
function checkMaker({ maker }: BuildSettings, paths: ReadonlySet<string>, dockerfile = 'Dockerfile'): void {
  if (maker !== 'folder' || !paths.has(dockerfile) || mayHavePlan((name) => paths.has(name))) return;
  const { reason, remedy } = onlyDockerfile(dockerfile);
  throw new Problem('invalid_value', `${upperFirst(reason)}. ${upperFirst(remedy)}.`, { details: { field: 'files' } });
}

function upperFirst(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}`;
}

/** @throws Problem `unavailable`, because the build would never start */
async function requireBuilder(kube: KubeClient): Promise<BuildSettings> {
  const { builds } = await readPlatformConfig(kube);
  if (builds) return builds;
  throw new Problem(
    'unavailable',
    'Builds are not enabled. An administrator enables them with `svc install --image-builder` and `--build-registry`.',
  );
}
