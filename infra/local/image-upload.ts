import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Logger } from 'pino';
import { z } from 'zod';
import { equalInConstantTime } from '../../runtime/domain/constant-time.ts';
import { dependencyFolders } from '../../runtime/domain/folder-plan.ts';
import { close, listen } from '../../runtime/process/listening.ts';
import { repositoryOf, type ImageStore } from './node/images.ts';

export interface ImageUploadOptions {
  images: Pick<ImageStore, 'add' | 'find' | 'remove'>;
  log: Logger;
  /** Prefix that the name of every uploaded image must have. */
  prefix: string;
  /** What the header `Authorization: Basic` must carry; undefined refuses every upload. */
  credentials: () => Promise<string | undefined>;
  /** The same for deletions. */
  deletionCredentials: () => Promise<string | undefined>;
  /** The folder with compiled packages of Go; default none. */
  goPackages?: () => Promise<string | undefined>;
  /** Maximum size of an archive in bytes. Default 2 GiB. */
  maxBytes?: number;
}

/** Receives images from builds, as a registry does in a cluster. */
export interface ImageUploadServer {
  /** Listens on 127.0.0.1. @returns the port */
  start(port: number): Promise<number>;
  stop(): Promise<void>;
}

const configuration = z.strictObject({
  entrypoint: z.array(z.string().max(20_000)).min(1).max(20),
  env: z.record(z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/), z.string().max(20_000)),
});

const digestPattern = /^sha256:[a-f0-9]{64}$/;

/** Of an image that is uploaded: its own dependencies, or those of an earlier image of its repository, in place of the archive's. */
const dependencies = z.union([
  z.strictObject({ folder: z.enum(dependencyFolders), key: z.string().regex(/^[a-f0-9]{64}$/), needed: z.boolean() }),
  z.strictObject({ of: z.string().regex(digestPattern) }),
]);

/** The name of an image, and whether its dependencies are asked for. */
const imagePath = /^\/images\/([^/?]+)(\/dependencies)?$/;

/** The repository's path without the host, and the digest. */
const manifestPath = /^\/v2\/([a-z0-9]+(?:[._/-][a-z0-9]+)*)\/manifests\/(sha256:[a-f0-9]{64})$/;

const defaultMaxBytes = 2 * 1024 ** 3;

class Refusal extends Error {
  readonly status: number;
  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/**
 * Adds uploaded images to the image store: `PUT /images/<name>` with a tar archive of the folder as the body and the
 * image's configuration in the header `x-configuration`. Build pods can write to the store only in this way, and only their
 * push step has the credentials: neither a source's own code nor another user of the machine can replace an image. The prefix
 * keeps them from replacing the platform's own images; apps run images by digest, so a later upload cannot change what
 * an app runs. The header `x-dependencies` says which folder of the archive has dependencies; a later build of the same
 * repository asks for their key (`GET /images/<repository>@<digest>`), and uploads the rest alone:
 * docs/decisions/0086-dependencies-on-the-embedded-cluster.md. svc-workers deletes images with credentials of its own:
 * `DELETE /v2/<path>/manifests/<digest>`. The step that builds has no credentials, and asks where compiled packages of Go
 * are: `GET /go-packages`.
 */
export function createImageUploadServer(options: ImageUploadOptions): ImageUploadServer {
  const { images, log, prefix, credentials, deletionCredentials, goPackages, maxBytes = defaultMaxBytes } = options;

  /** @throws Refusal for other credentials than the expected ones */
  const authorize = async ({ headers }: IncomingMessage, expected: string | undefined): Promise<void> => {
    const [, sent] = /^Basic (\S+)$/.exec(headers.authorization ?? '') ?? [];
    if (sent === undefined || expected === undefined || !equalInConstantTime(sent, expected)) {
      throw new Refusal(401, 'the credentials for the image store are missing or wrong');
    }
  };

  /** Blocks requests from web pages (DNS rebinding): a browser sends another Host, or a preflight request first. */
  const checkHost = ({ headers }: IncomingMessage): void => {
    if (!/^(?:127\.0\.0\.1|localhost)(?::\d+)?$/.test(headers.host ?? ''))
      throw new Refusal(421, 'use the host 127.0.0.1 or localhost');
  };

  /** As a registry deletes a manifest. Only images that builds uploaded can be deleted. */
  const remove = async (request: IncomingMessage): Promise<void> => {
    const [, path, digest] = manifestPath.exec(request.url ?? '') ?? [];
    if (path === undefined || digest === undefined)
      throw new Refusal(404, 'only /v2/<path>/manifests/<digest> is supported');
    await authorize(request, await deletionCredentials());
    const repository = `${prefix.slice(0, prefix.indexOf('/'))}/${path}`;
    if (!repository.startsWith(prefix)) throw new Refusal(403, `image names begin with ${prefix}`);
    if (!(await images.remove(repository, digest))) throw new Refusal(404, 'the repository does not have this image');
    log.info({ image: `${repository}@${digest}` }, 'image deleted');
  };

  /** What the path of a request with the credentials of builds names. */
  const nameIn = async (request: IncomingMessage): Promise<{ name: string; asksForFiles: boolean }> => {
    const [, encodedName, suffix] = imagePath.exec(request.url ?? '') ?? [];
    if (encodedName === undefined) throw new Refusal(404, 'only /images/<name> is supported');
    await authorize(request, await credentials());
    return { name: decodeName(encodedName), asksForFiles: suffix !== undefined };
  };

  /** An image that this repository has, and its dependencies. @throws Refusal for none */
  const findBase = async (repository: string, digest: string) => {
    const image = repository.startsWith(prefix) ? await images.find(`${repository}@${digest}`) : undefined;
    if (!image?.dependencies) throw new Refusal(404, 'the repository has no such image with dependencies');
    return { image, dependencies: image.dependencies };
  };

  /** Sends what an image says about its dependencies, or their folder as a tar archive. */
  const sendDependencies = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { name, asksForFiles } = await nameIn(request);
    const [repository = '', digest = ''] = name.split('@');
    if (!digestPattern.test(digest)) throw new Refusal(400, 'the name must end in @sha256:…');
    const { image, dependencies } = await findBase(repository, digest);
    const { folder, key, needed = false } = dependencies;
    if (!asksForFiles) {
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ folder, key, needed }));
      return;
    }
    const tar = spawn('tar', ['--create', '--file=-', `--directory=${image.folder}`, '--', folder], {
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    response.writeHead(200, { 'content-type': 'application/x-tar' });
    // The reader sees that an archive is incomplete.
    await pipeline(tar.stdout, response).catch(() => tar.kill('SIGKILL'));
  };

  /** Says in which folder they are. The request has no part in what is compiled, so it needs no credentials. */
  const sendGoPackages = async (response: ServerResponse): Promise<void> => {
    const folder = await goPackages?.();
    if (folder === undefined) throw new Refusal(404, 'there are no compiled packages of Go');
    response.writeHead(200, { 'content-type': 'text/plain' }).end(folder);
  };

  const receive = async (request: IncomingMessage): Promise<{ digest: string; dependencyBytes: number }> => {
    const { name, asksForFiles } = await nameIn(request);
    if (asksForFiles) throw new Refusal(404, 'only GET is supported');
    if (!name.startsWith(prefix) || !/^[a-z0-9._:/-]+:[A-Za-z0-9._-]+$/.test(name)) {
      throw new Refusal(403, `image names have the form ${prefix}<namespace>/<app>:<tag>`);
    }
    const imageConfiguration = configurationOf(request.headers['x-configuration']);
    const header = dependenciesOf(request.headers['x-dependencies']);
    const base = header && 'of' in header ? await findBase(repositoryOf(name), header.of) : undefined;
    const folder = await mkdtemp(join(tmpdir(), 'svc-upload-'));
    try {
      await unpack(request, folder, maxBytes);
      const own = header && 'key' in header ? header : undefined;
      const { digest } = await images.add(folder, name, imageConfiguration, { dependencies: own, base: base?.image });
      log.info({ image: name, digest }, 'image uploaded');
      return { digest, dependencyBytes: base?.dependencies.bytes ?? 0 };
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  };

  const respond = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    try {
      checkHost(request);
      if (request.method === 'DELETE') {
        await remove(request);
        response.writeHead(202).end();
        return;
      }
      if (request.method === 'GET') {
        await (request.url === '/go-packages' ? sendGoPackages(response) : sendDependencies(request, response));
        return;
      }
      if (request.method !== 'PUT') throw new Refusal(404, 'use PUT, GET or DELETE');
      const body = await receive(request);
      response.writeHead(201, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    } catch (error) {
      const status = error instanceof Refusal ? error.status : 500;
      if (status === 500) log.error({ err: error }, 'request to the image store failed');
      // Closing the connection discards the rest of the upload.
      response
        .writeHead(status, { connection: 'close' })
        .end(error instanceof Refusal ? error.message : 'the image store failed');
    }
  };

  const server = createServer((request, response) => void respond(request, response));
  return { start: (port) => listen(server, port, '127.0.0.1'), stop: () => close(server) };
}

function decodeName(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new Refusal(400, 'the image name is not valid percent-encoding');
  }
}

function configurationOf(header: string | string[] | undefined): z.infer<typeof configuration> {
  try {
    return configuration.parse(JSON.parse(String(header)));
  } catch {
    throw new Refusal(400, 'the header x-configuration must be {"entrypoint": [...], "env": {...}}');
  }
}

function dependenciesOf(header: string | string[] | undefined): z.infer<typeof dependencies> | undefined {
  if (header === undefined) return undefined;
  try {
    return dependencies.parse(JSON.parse(String(header)));
  } catch {
    throw new Refusal(
      400,
      'the header x-dependencies must be {"folder": …, "key": …, "needed": …} or {"of": "sha256:…"}',
    );
  }
}

/** tar removes leading slashes and `..`, so no file can be written outside the folder. */
async function unpack(archive: IncomingMessage, folder: string, maxBytes: number): Promise<void> {
  // With --ignore-zeros tar reads to the end of the stream instead of closing the pipe at the end of the archive.
  const tar = spawn('tar', ['--extract', '--ignore-zeros', '--file=-', `--directory=${folder}`, '--no-same-owner'], {
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  const closed = once(tar, 'close') as Promise<[number | null]>;
  let size = 0;
  const limitedArchive = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      size += chunk.length;
      done(size > maxBytes ? new Refusal(413, `the image is larger than ${maxBytes} bytes`) : null, chunk);
    },
  });
  try {
    await pipeline(archive, limitedArchive, tar.stdin);
  } catch (error) {
    // tar may exit before its input stream has finished. When the archive is complete, its exit code decides.
    if (error instanceof Refusal || !archive.complete) {
      tar.kill('SIGKILL');
      await closed;
      throw error instanceof Refusal ? error : new Refusal(400, 'the upload was interrupted');
    }
  }
  const [code] = await closed;
  if (code !== 0) throw new Refusal(400, 'the archive is not a valid tar file');
}
