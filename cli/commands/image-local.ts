import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { homeAt, homeFolder, type Home } from '../../infra/local/home.ts';
import { builtImages, createImageStore, repositoryOf } from '../../infra/local/node/images.ts';
import type { KubeObject } from '../../runtime/contracts/kubernetes.ts';
import { kinds } from '../../runtime/contracts/resources/kinds.ts';
import { createKubeClient } from '../../runtime/kube/client.ts';
import { loadKubeConfig } from '../../runtime/kube/kubeconfig.ts';
import { findImageUser } from '../../runtime/workloads/image-users.ts';
import type { Context } from '../context.ts';
import { Failure, usageFailure } from '../failure.ts';
import { columns, type OutputFormat } from '../output.ts';
import { confirm } from '../prompt.ts';

/** The platform's own images, under both of their names. */
const platformImages = /^(?:localhost:5000\/)?svc\//;

/** Prints the images on this machine. */
export async function listLocalImages(context: Context, output: OutputFormat | undefined): Promise<void> {
  const images = await createImageStore(homeAt(homeFolder(context.env)).images).list();
  context.print(
    {
      data: images,
      table: columns([['IMAGE', 'DIGEST'], ...images.map(({ reference, digest }) => [reference, digest.slice(0, 19)])]),
      names: images.map(({ reference }) => reference),
    },
    output,
  );
}

/**
 * Deletes images that `svc image build` made and nothing uses.
 * @throws Failure `not_found`, `in_use`, `not_confirmed`, and usage for an image of the platform or of a build
 */
export async function deleteLocalImages(
  context: Context,
  flags: { yes: boolean },
  references: readonly string[],
): Promise<void> {
  const home = homeAt(homeFolder(context.env));
  const store = createImageStore(home.images);
  const images = await store.list();
  const selected = references.map((name) => {
    const image = images.find(({ reference }) => reference === name || reference === `${name}:latest`);
    if (!image) throw new Failure(`There is no image "${name}" on this machine.`, { code: 'not_found' });
    if (platformImages.test(image.reference))
      throw usageFailure(`${image.reference} is an image of the platform itself and cannot be deleted.`);
    if (image.reference.startsWith(builtImages)) {
      throw usageFailure(
        `${image.reference} was built for an app, so it is deleted in its project.`,
        'svc image delete, without --local',
      );
    }
    return image;
  });
  for (const { reference, digest } of selected) {
    const user = await findUser(home, { repository: repositoryOf(reference), digest, names: [reference] });
    if (user !== undefined) {
      throw new Failure(`The image ${reference} is in use by ${user}.`, {
        code: 'in_use',
        hint: 'deploy another image there first',
      });
    }
  }
  const names = selected.map(({ reference }) => reference).join(', ');
  await confirm(context, flags, `Delete ${selected.length === 1 ? 'image' : 'images'} ${names} on this machine?`);
  for (const { reference } of selected) {
    await store.untag(reference);
    context.say(`image ${reference} is deleted`);
  }
}

/** What uses an image in the platform on this machine; undefined where none was ever started. */
async function findUser(home: Home, image: Parameters<typeof findImageUser>[2]): Promise<string | undefined> {
  const kubeconfig = join(home.apiServer, 'admin.kubeconfig');
  if (!existsSync(kubeconfig)) return undefined;
  const kube = createKubeClient(loadKubeConfig(kubeconfig));
  try {
    const namespaces = await kube.list<KubeObject>(kinds.Namespace);
    const user = await findImageUser(
      kube,
      namespaces.items.map(({ metadata }) => metadata.name),
      image,
    );
    return user?.name;
  } catch (error) {
    throw new Failure('Cannot check whether the image is in use: the platform is not running.', {
      code: 'unavailable',
      hint: 'start it: svc up',
      cause: error,
    });
  } finally {
    await kube.close();
  }
}
