import { existsSync, lstatSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createBuildah } from './buildah.ts';
import { dropCache } from './dependency-cache.ts';
import { BuildFailure } from './failure.ts';
import { makeGeneratedImage } from './generated-image.ts';
import { manifestBytes } from './oci-image.ts';
import { credentialsFile } from './registry-credentials.ts';
import { capture, run } from './run.ts';
import type { BuildSettings } from './settings.ts';

/** The image between its build and its push, an OCI layout in one tar file. */
const archiveIn = (workspace: string) => join(workspace, 'image.tar');

/**
 * Builds a container image with buildah, without rights on the node: RUN steps are isolated by chroot in a user namespace.
 * A program can escape from a chroot, so it finds nothing here that is not its own.
 * @param options.certificatesFolder the files with the installation's CA certificates, for the RUN steps
 * @param options.now in ms since 1970
 */
export async function makeContainerImage(
  settings: BuildSettings,
  { context, certificatesFolder, now }: { context: string; certificatesFolder?: string | undefined; now: number },
): Promise<void> {
  const { workspace, dockerfile, target } = settings;
  const [file, archive] = [dockerfileIn(context, dockerfile), archiveIn(workspace)];
  const buildah = createBuildah(settings, { context, certificatesFolder });
  if (file === undefined) return makeGeneratedImage(settings, { context, buildah, archive, now });
  dropCache(workspace);
  await buildah.build(file, target);
  await buildah.push(target, `oci-archive:${archive}`);
}

/** Accepts archives only: this program reads no image from a registry. */
const pushPolicy = {
  default: [{ type: 'reject' }],
  transports: { 'oci-archive': { '': [{ type: 'insecureAcceptAnything' }] } },
};

const inspectMs = 20_000;

/**
 * Pushes the image that was built. Of layers that the archive does not have, the registry must have those of this repository.
 * @returns its digest, and its size
 */
export async function pushContainerImage({
  workspace,
  target,
  plainHttp,
}: BuildSettings): Promise<{ digest: string; sizeBytes: number }> {
  const archive = archiveIn(workspace);
  // A link could name a file of this container.
  const file = lstatSync(archive, { throwIfNoEntry: false });
  if (!file?.isFile()) throw new BuildFailure('the build left no image');
  const folder = mkdtempSync(join(tmpdir(), 'push-'));
  const env = { HOME: folder, XDG_RUNTIME_DIR: folder, REGISTRY_AUTH_FILE: credentialsFile() };
  try {
    const [policy, digestFile] = [join(folder, 'policy.json'), join(folder, 'digest')];
    writeFileSync(policy, JSON.stringify(pushPolicy));
    const options = ['--quiet', '--digestfile', digestFile, `--dest-tls-verify=${!plainHttp}`];
    const copy = ['copy', ...options, `oci-archive:${archive}`, `docker://${target}`];
    // skopeo unpacks the archive below /var/tmp unless told otherwise, whatever TMPDIR says.
    await run('skopeo', ['--policy', policy, '--tmpdir', folder, ...copy], { env, name: 'skopeo copy' });
    const digest = readFileSync(digestFile, 'utf8').trim();
    const source = `docker://${target.slice(0, target.lastIndexOf(':'))}@${digest}`;
    const inspect = ['inspect', '--raw', `--tls-verify=${!plainHttp}`, source];
    const manifest = await capture('skopeo', inspect, { env, timeoutMs: inspectMs }).catch(() => '');
    // Without layers, the archive is smaller than the image.
    return { digest, sizeBytes: manifestBytes(manifest) ?? file.size };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The repository's Dockerfile; undefined when it has none and the settings name none. */
function dockerfileIn(context: string, name: string | undefined): string | undefined {
  const file = join(context, name ?? 'Dockerfile');
  if (!existsSync(file)) {
    if (name !== undefined) throw new BuildFailure(`${name} does not exist in the folder that is built`);
    return undefined;
  }
  // Otherwise a link could put parts of the builder's own files into the log.
  if (!realpathSync(file).startsWith(`${context}/`))
    throw new BuildFailure('the Dockerfile is a link to a file outside the folder that is built');
  return file;
}
