import type { Pool } from 'pg';
import type { App } from '../contracts/resources/app.ts';
import { kinds } from '../contracts/resources/kinds.ts';
import type { PlatformConfigSpec } from '../contracts/resources/platform-config.ts';
import { checkImageProject, imageNotAllowed, isBuilt, isSameRepository } from '../domain/built-image.ts';
import { checkImage } from '../domain/image.ts';
import type { Environment } from '../kube/environments.ts';
import type { KubeClient } from '../kube/kube-client.ts';
import { checkImageStored } from '../records/images.ts';

/**
 * Checks an image that a user names. An image that a build made for another environment is allowed only after a
 * promotion: when an app of this environment runs the same repository.
 * @param app the app to create, whose first image may be that of the app of the same name in another environment, since
 * an app is created before it is promoted to
 * @throws Problem `invalid_value`, `image_not_allowed`, and `image_deleted` for one that a build made and was deleted
 */
export async function checkUsableImage(
  { kube, pool }: { kube: Pick<KubeClient, 'list'>; pool: Pool },
  { builds }: Pick<PlatformConfigSpec, 'builds'>,
  { project, namespace }: Pick<Environment, 'project' | 'namespace'>,
  image: string,
  app?: string,
): Promise<void> {
  checkImage(image);
  const build = checkImageProject(image, { project, namespace }, builds);
  if (build && (app === undefined || build.app !== app)) await checkPromoted(kube, namespace, image);
  if (isBuilt(image, builds)) await checkImageStored(pool, image);
}

/** @throws Problem `image_not_allowed` */
async function checkPromoted(kube: Pick<KubeClient, 'list'>, namespace: string, image: string): Promise<void> {
  const { items } = await kube.list<App>(kinds.App, { namespace });
  const promoted = items.some(({ spec }) => spec.release && isSameRepository(spec.release.image, image));
  if (!promoted) throw imageNotAllowed(image);
}
