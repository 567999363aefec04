import type { Pool } from 'pg';
import { z } from 'zod';
import { environmentQuery, idPageQuery, page } from '../../runtime/contracts/api/common.ts';
import { imagePrune, imagesPruned, imageView, type ImageView } from '../../runtime/contracts/api/images.ts';
import { defaultKeptImages } from '../../runtime/contracts/resources/platform-config.ts';
import { transaction } from '../../runtime/db/pool.ts';
import { imagePrefix } from '../../runtime/domain/built-image.ts';
import { Problem } from '../../runtime/domain/problem.ts';
import { pageOfRows } from '../../runtime/http/page.ts';
import { actorOf, route, sessionOf, type Route } from '../../runtime/http/route.ts';
import { resolveEnvironment, type Environment } from '../../runtime/kube/environments.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import { findPrunable, namespacesOf, requestDeletions, tagsOf } from '../../runtime/records/image-deletions.ts';
import { findImage, findListedImages, listImages, type ListedImage } from '../../runtime/records/images.ts';
import { findImageUser } from '../../runtime/workloads/image-users.ts';
import { readSettingsIfAny } from '../../runtime/workloads/platform-config.ts';

interface Dependencies {
  pool: Pool;
  kube: Pick<KubeClient, 'get' | 'list'>;
}

const tag = 'images';
/** Maximum images that one request prunes. */
const pruneMax = 500;

const listQuery = environmentQuery.extend({
  ...idPageQuery.shape,
  app: z.string().min(1).max(100).optional().describe('Only images of this app.'),
});

const imagePath = {
  path: '/projects/:project/images/:image',
  params: z.object({
    project: z.string().max(100),
    image: z.string().max(600).describe('`<app>:<tag>`, the full name, the digest, or the id.'),
  }),
  query: environmentQuery,
} as const;

/** @param only the environment to which the caller's access token is limited, which learns nothing of the others */
function toView(image: ListedImage, { project, environment }: Environment, only: string | undefined): ImageView {
  const { id, name, digest, app, sizeBytes, problem, message, builtAt } = image;
  const isShown = (user: { environment: string }) => only === undefined || user.environment === only;
  const revisions = image.revisions.filter(isShown);
  const usedBy = image.usedBy && isShown(image.usedBy) ? image.usedBy : null;
  return {
    id,
    name: name.slice(name.lastIndexOf('/') + 1),
    image: name,
    digest,
    app,
    project,
    environment,
    revisions,
    ...(sizeBytes !== null && { sizeBytes }),
    inUse: image.usedBy !== null,
    ...(usedBy && { usedBy }),
    status: image.state === 'stored' && image.requestedAt !== null ? 'deleting' : image.state,
    ...(problem !== null && { problem }),
    ...(message !== null && { message }),
    builtAt: builtAt.toISOString(),
  };
}

/** The images that builds made for an environment (docs/how-to/images.md). */
export function createImageRoutes({ pool, kube }: Dependencies): Route[] {
  const find = async (environment: Environment, reference: string): Promise<ListedImage> => {
    const builds = (await readSettingsIfAny(kube))?.builds;
    const prefix = builds ? imagePrefix(builds, environment.namespace) : '';
    return findImage(pool, environment.environmentId, { reference, prefix });
  };

  return [
    route({
      method: 'GET',
      path: '/projects/:project/images',
      access: { project: 'viewer', scope: 'read' },
      tag,
      summary: 'Lists the images that builds made for an environment, newest first.',
      query: listQuery,
      replies: { 200: page(imageView) },
      async handle({ params, query: { limit, cursor, app, environment: name }, grant }) {
        const environment = await resolveEnvironment(kube, params.project, name);
        const rows = await listImages(pool, environment.environmentId, { app, limit: limit + 1, before: cursor });
        const only = grant?.environment;
        const toItem = (image: ListedImage) => toView(image, environment, only);
        return { status: 200, body: pageOfRows(rows, limit, { cursorOf: ({ id }) => id, toItem }) };
      },
    }),
    route({
      ...imagePath,
      method: 'GET',
      access: { project: 'viewer', scope: 'read' },
      tag,
      summary: 'Shows an image that a build made, even after it was deleted.',
      replies: { 200: imageView },
      async handle({ params, query, grant }) {
        const environment = await resolveEnvironment(kube, params.project, query.environment);
        return { status: 200, body: toView(await find(environment, params.image), environment, grant?.environment) };
      },
    }),
    route({
      ...imagePath,
      method: 'DELETE',
      access: { project: 'deployer', scope: 'write' },
      tag,
      summary: 'Deletes an image that nothing uses from the registry. 202: it is deleted soon.',
      audit: 'image.delete.request',
      replies: { 202: imageView },
      async handle(request) {
        const { params, query } = request;
        const environment = await resolveEnvironment(kube, params.project, query.environment);
        const image = await find(environment, params.image);
        const audit = { environment: environment.environment, image: image.name, digest: image.digest };
        if (image.state === 'deleted') throw new Problem('not_found', `The image "${image.name}" was deleted already.`);
        await checkUnused(image, request.grant?.environment);
        await transaction(pool, (client) => requestDeletions(client, [image.id], actorOf(sessionOf(request))));
        const [requested = image] = await findListedImages(pool, [image.id]);
        return { status: 202, body: toView(requested, environment, request.grant?.environment), audit };
      },
    }),
    route({
      method: 'POST',
      path: '/projects/:project/images/prune',
      access: { project: 'deployer', scope: 'write' },
      tag,
      summary: 'Deletes the images that nothing uses, except the newest of each app’s rollback history.',
      audit: 'image.prune',
      query: environmentQuery,
      body: imagePrune,
      replies: { 200: imagesPruned },
      async handle(request) {
        const { app, dryRun } = request.body;
        const environment = await resolveEnvironment(kube, request.params.project, request.query.environment);
        const { project, environmentId } = environment;
        const settings = await readSettingsIfAny(kube);
        const platformKeep = settings?.builds?.keepImages ?? defaultKeptImages;
        const only = request.grant?.environment;
        // Other environments roll back to promoted images, so a token of one environment keeps what the platform keeps.
        const keep =
          only === undefined ? (request.body.keep ?? platformKeep) : Math.max(request.body.keep ?? 0, platformKeep);
        const ids = await findPrunable(pool, { environmentId, project, app }, { keep, limit: pruneMax });
        if (!dryRun) {
          await transaction(pool, (client) => requestDeletions(client, ids, actorOf(sessionOf(request))));
        }
        const images = (await findListedImages(pool, ids)).map((image) => toView(image, environment, only));
        const audit = !dryRun && {
          environment: environment.environment,
          keep,
          digests: images.map(({ digest }) => digest),
        };
        return { status: 200, body: { keep, images, more: ids.length === pruneMax }, audit };
      },
    }),
  ];

  /** @throws Problem `in_use` that names a user */
  async function checkUnused(image: ListedImage, only: string | undefined): Promise<void> {
    if (only !== undefined && image.revisions.some(({ environment }) => environment !== only)) {
      const text = `The image "${image.name}" belongs to the history of another environment, which this access token does not open.`;
      throw new Problem('in_use', text);
    }
    const names = await tagsOf(pool, image.id);
    const { usedBy } = image;
    const user = usedBy
      ? { name: `revision ${usedBy.revision} of ${usedBy.app} in ${usedBy.environment}`, isStopping: false }
      : await findImageUser(kube, await namespacesOf(pool, image.project), { ...image, names });
    // The deletion waits for a pod that is being stopped.
    if (user === undefined || user.isStopping) return;
    throw new Problem('in_use', `The image "${image.name}" is in use by ${user.name}. Deploy another one there first.`);
  }
}
