import { existsSync, realpathSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { sourceFolder } from './clone.ts';
import { makeContainerImage, pushContainerImage } from './container-image.ts';
import { BuildFailure } from './failure.ts';
import { makeFolderImage, pushFolderImage } from './folder-image.ts';
import type { BuildSettings, PushedImage } from './settings.ts';

/** How images are made: with buildah, or as the folders that the embedded cluster runs. */
export type Maker = 'buildah' | 'folder';

/**
 * Builds an image from the fetched source and leaves it in the workspace.
 * @param certificatesFolder the files of `writeCertificates`, if the installation has CA certificates
 * @throws BuildFailure
 */
export async function buildImage(settings: BuildSettings, maker: Maker, certificatesFolder?: string): Promise<void> {
  const context = contextOf(settings);
  const now = Date.now();
  if (maker === 'folder') return makeFolderImage(settings, { context, now });
  await makeContainerImage(settings, { context, certificatesFolder, now });
}

/**
 * Pushes the image in the workspace. The code that was built could write to the workspace, so what lies in it is data
 * and nothing more: it is neither run nor trusted. @throws BuildFailure
 */
export async function pushImage(settings: BuildSettings, maker: Maker): Promise<PushedImage> {
  const { image } = settings;
  process.stdout.write(`pushing ${image}\n`);
  const pushed = await (maker === 'folder'
    ? pushFolderImage(settings, contextOf(settings))
    : pushContainerImage(settings));
  process.stdout.write(`image ${image} ${pushed.digest}\n`);
  return { image, ...pushed };
}

/** The folder to build. It may not be outside the source, not even by a link. */
function contextOf({ workspace, path }: BuildSettings): string {
  const source = realpathSync(sourceFolder(workspace));
  const folder = join(source, path);
  if (!existsSync(folder)) throw new BuildFailure(`the repository has no folder ${path}`);
  const context = realpathSync(folder);
  if (context !== source && !context.startsWith(`${source}/`)) {
    throw new BuildFailure(`${path} is outside the repository`);
  }
  if (!statSync(context).isDirectory()) throw new BuildFailure(`${path} is not a folder`);
  return context;
}
