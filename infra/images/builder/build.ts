import { existsSync, readFileSync, realpathSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { commitFile, sourceFolder, type Commit } from './clone.ts';
import { BuildFailure } from './failure.ts';
import { makeFolderImage } from './folder-image.ts';
import { makeContainerImage } from './container-image.ts';
import type { BuildResult, BuildSettings } from './settings.ts';

/** Builds an image from the fetched source and pushes it. @throws BuildFailure */
export async function buildImage(settings: BuildSettings, maker: 'buildah' | 'folder'): Promise<BuildResult> {
  const details = JSON.parse(readFileSync(commitFile(settings.workspace), 'utf8')) as Commit;
  const context = contextOf(settings);
  const make = maker === 'folder' ? makeFolderImage : makeContainerImage;
  const digest = await make(settings, context);
  process.stdout.write(`image ${settings.image} ${digest}\n`);
  const { commit, message: commitMessage, author: commitAuthor } = details;
  return { image: settings.image, digest, commit, commitMessage, commitAuthor };
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
