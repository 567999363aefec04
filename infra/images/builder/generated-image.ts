import { existsSync, readFileSync, realpathSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { goProgram } from '../../../runtime/domain/folder-plan.ts';
import type { Buildah } from './buildah.ts';
import {
  cachedLayout,
  dependenciesOf,
  dependencyLabel,
  dropCache,
  readCache,
  type Dependencies,
} from './dependency-cache.ts';
import { BuildFailure } from './failure.ts';
import { compiledProgram, dependencyKey, generateBuild, goDockerfile, type GeneratedBuild } from './generated-build.ts';
import { addFolderLayer, firstLayers, readLayout, withLayer, writeLayout, type OciImage } from './oci-image.ts';
import { planOf } from './plan.ts';
import { run } from './run.ts';
import type { BuildSettings } from './settings.ts';
import { addStaticServer, makeOwnFolder } from './static-site.ts';

/** The name of the image with the dependencies; no registry has it. */
const dependencyImage = 'localhost/dependencies';

interface Work {
  /** The folder that is built. */
  context: string;
  buildah: Buildah;
  /** The file for the image, an OCI layout in one tar file. */
  archive: string;
  /** In ms since 1970. */
  now: number;
}

/**
 * Builds the image of a folder without a Dockerfile. The dependencies are layers of their own, which are taken from the
 * app's last image if they are the same. When nothing runs after them, the folder's files become the last layer without a
 * container, and the other layers are not even fetched, because the registry has them.
 */
export async function makeGeneratedImage(settings: BuildSettings, work: Work): Promise<void> {
  const { workspace } = settings;
  const { context, buildah, now } = work;
  const plan = planOf(context);
  if (plan.language === 'go') await compileGo(settings, work);
  if (plan.language === 'static') addStaticServer(context);
  const folder = folderFiles(context);
  const build = generateBuild(plan, settings.baseImages, folder, buildah.variables);
  process.stdout.write(`no Dockerfile found; building with this one:\n${build.dockerfile}\n`);
  const key = dependencyKey(build, folder, { registries: buildah.registries, now });
  const base = key === undefined ? undefined : await buildah.digestOf(build.base);
  const origin = key === undefined || base === undefined ? undefined : { key, base };
  const cached = origin && findCached(workspace, origin);
  if (cached) process.stdout.write('the dependencies are those of the last build\n');
  else dropCache(workspace);
  const makeImage = build.source === undefined ? addFiles : runSource;
  await makeImage(settings, work, { build, source: build.source ?? [], origin, cached });
}

/** Compiles a Go module, and adds its program to the folder, so that the app's image has no toolchain and no modules. */
async function compileGo({ workspace, baseImages }: BuildSettings, { buildah, context }: Work): Promise<void> {
  const dockerfile = goDockerfile(baseImages, buildah.variables);
  process.stdout.write(`compiling the Go module with this Dockerfile:\n${dockerfile}\n`);
  const [file, output] = [join(workspace, 'Dockerfile'), join(workspace, 'compiled')];
  writeFileSync(file, dockerfile);
  await buildah.build(file, 'localhost/compiled', { output });
  makeOwnFolder(context);
  renameSync(join(output, compiledProgram), join(context, goProgram));
}

interface Prepared {
  build: GeneratedBuild;
  source: string[];
  /** Undefined when later builds cannot use the dependencies. */
  origin: Pick<Dependencies, 'key' | 'base'> | undefined;
  /** The image with the dependencies, if the last build made them. */
  cached: OciImage | undefined;
}

/** Adds the folder's files to the dependencies without a container. */
async function addFiles({ workspace }: BuildSettings, work: Work, { build, origin, cached }: Prepared): Promise<void> {
  const layout = join(workspace, 'layout');
  if (!cached) {
    await buildDependencies(workspace, work, build);
    await work.buildah.push(dependencyImage, `oci:${layout}`);
  }
  const dependencies = cached ?? readLayout(layout);
  const layers = dependencies.manifest.layers.length;
  const layer = await addFolderLayer(layout, work.context);
  const { manifest, configuration } = withLayer(dependencies, layer, new Date(work.now).toISOString());
  const config = {
    ...configuration.config,
    Entrypoint: build.entrypoint,
    Cmd: [],
    Labels: { ...configuration.config?.Labels, ...labelsOf(origin && { ...origin, layers }) },
  };
  writeLayout(layout, { manifest, configuration: { ...configuration, config } });
  await run('tar', ['--create', '--file', work.archive, '--directory', layout, '.']);
}

/** Runs the rest of the build in a container that begins with the dependencies. */
async function runSource(
  { workspace, target }: BuildSettings,
  work: Work,
  { build, source, origin, cached }: Prepared,
): Promise<void> {
  const { buildah, archive } = work;
  if (cached) {
    const layout = cachedLayout(workspace);
    writeLayout(layout, cached);
    await buildah.pull(layout, dependencyImage);
    dropCache(workspace);
  } else await buildDependencies(workspace, work, build);
  const { layers, environment } = await buildah.inspect(dependencyImage);
  const file = join(workspace, 'Dockerfile');
  writeFileSync(file, [`FROM ${dependencyImage}`, ...source, ''].join('\n'));
  const labels = labelsOf(origin && { ...origin, layers, environment });
  await buildah.build(file, target, { isLocal: true, labels });
  await buildah.push(target, `oci-archive:${archive}`);
}

async function buildDependencies(workspace: string, { buildah }: Work, { dependencies }: GeneratedBuild) {
  const file = join(workspace, 'Dockerfile');
  writeFileSync(file, dependencies);
  await buildah.build(file, dependencyImage);
}

function labelsOf(dependencies: Dependencies | undefined): Record<string, string> {
  // buildah replaces variables in labels.
  const text = JSON.stringify(dependencies)?.replaceAll('$', String.raw`\u0024`);
  return text === undefined ? {} : { [dependencyLabel]: text };
}

/** The first layers of the app's last image, if they are what this build would make. */
function findCached(workspace: string, { key, base }: Pick<Dependencies, 'key' | 'base'>): OciImage | undefined {
  const image = readCache(workspace);
  const dependencies = image && dependenciesOf(image);
  if (!dependencies || dependencies.key !== key || dependencies.base !== base) return undefined;
  const { manifest, configuration } = firstLayers(image, dependencies.layers);
  const { environment: Env } = dependencies;
  return { manifest, configuration: { ...configuration, config: { ...configuration.config, ...(Env && { Env }) } } };
}

/** The files of the folder that is built. A link could lead to files of this container. */
function folderFiles(context: string) {
  return {
    has: (name: string) => existsSync(join(context, name)),
    read(name: string) {
      const file = join(context, name);
      if (realpathSync(file).startsWith(`${context}/`)) return readFileSync(file, 'utf8');
      throw new BuildFailure(`${name} is a link to a file outside the folder that is built`);
    },
  };
}
