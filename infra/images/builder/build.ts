import { existsSync, readFileSync, realpathSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { commitFile, sourceFolder, type Commit } from './clone.ts';
import { BuildFailure } from './failure.ts';
import { makeFolderImage } from './make-folder.ts';
import { makeContainerImage } from './make-container.ts';
import type { BuildResult, BuildSettings } from './settings.ts';

/** Makes an image of what was fetched and puts it where nodes get it from. @throws BuildFailure */
export async function buildImage(settings: BuildSettings, maker: 'buildah' | 'folder'): Promise<BuildResult> {
  const known = JSON.parse(readFileSync(commitFile(settings.workspace), 'utf8')) as Commit;
  const context = contextOf(settings);
  const make = maker === 'folder' ? makeFolderImage : makeContainerImage;
  const digest = await make(settings, context);
  process.stdout.write(`image ${settings.image} ${digest}\n`);
  const { commit, message: commitMessage, author: commitAuthor } = known;
  return { image: settings.image, digest, commit, commitMessage, commitAuthor };
}

/** The folder that is built. A link may not lead out of the source. */
function contextOf({ workspace, path }: BuildSettings): string {
  const source = realpathSync(sourceFolder(workspace));
  const named = join(source, path);
  if (!existsSync(named)) throw new BuildFailure(`the repository has no folder ${path}`);
  const context = realpathSync(named);
  if (context !== source && !context.startsWith(`${source}/`)) {
    throw new BuildFailure(`${path} leads out of the repository`);
  }
  if (!statSync(context).isDirectory()) throw new BuildFailure(`${path} is no folder`);
  return context;
}
