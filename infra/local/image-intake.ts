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
import type { ImageStore } from './node/images.ts';

export interface ImageIntakeOptions {
  images: Pick<ImageStore, 'add'>;
  log: Logger;
  /** What the name of every image begins with that is taken. */
  prefix: string;
  /** Bytes of an archive; default 2 GiB. */
  maxBytes?: number;
}

/** Where images are handed in: what a registry is in a cluster. */
export interface ImageIntake {
  /** Listens on 127.0.0.1. @returns the port */
  start(port: number): Promise<number>;
  stop(): Promise<void>;
}

const configuration = z.strictObject({
  entrypoint: z.array(z.string().max(20_000)).min(1).max(20),
  env: z.record(z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/), z.string().max(20_000)),
});

const defaultMaxBytes = 2 * 1024 ** 3;

class Refusal extends Error {
  readonly status: number;
  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/**
 * Takes what builds have made into the image store: `PUT /images/<name>` with an archive of the folder, and in the header
 * `x-configuration` how it is started. Builds run as pods and have no other way to the store; the names that they may give
 * are those of built images, so that none can stand for the platform's own. What an app runs is named by digest, which no
 * later image can have.
 */
export function createImageIntake(options: ImageIntakeOptions): ImageIntake {
  const { images, log, prefix, maxBytes = defaultMaxBytes } = options;

  const take = async (request: IncomingMessage): Promise<{ digest: string }> => {
    // No page in a browser can send this: it names another host, or asks before it may.
    if (!/^(?:127\.0\.0\.1|localhost)(?::\d+)?$/.test(request.headers.host ?? ''))
      throw new Refusal(421, 'another host');
    const encoded = /^\/images\/([^/?]+)$/.exec(request.url ?? '')?.[1];
    if (request.method !== 'PUT' || encoded === undefined) throw new Refusal(404, 'PUT /images/<name> only');
    const name = decoded(encoded);
    if (!name.startsWith(prefix) || !/^[a-z0-9._:/-]+:[A-Za-z0-9._-]+$/.test(name)) {
      throw new Refusal(403, `images are named ${prefix}<namespace>/<app>:<revision>`);
    }
    const started = configurationOf(request.headers['x-configuration']);
    const folder = await mkdtemp(join(tmpdir(), 'svc-intake-'));
    try {
      await unpack(request, folder, maxBytes);
      const { digest } = await images.add(folder, name, started);
      log.info({ image: name, digest }, 'image handed in');
      return { digest };
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  };

  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    try {
      const body = await take(request);
      response.writeHead(201, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    } catch (error) {
      const status = error instanceof Refusal ? error.status : 500;
      if (status === 500) log.error({ err: error }, 'image could not be taken in');
      // What is still being sent is of no use.
      response.writeHead(status, { connection: 'close' }).end(error instanceof Refusal ? error.message : 'failed');
    }
  };

  const server = createServer((request, response) => void answer(request, response));
  return {
    async start(port) {
      server.listen(port, '127.0.0.1');
      await once(server, 'listening');
      const bound = server.address();
      return typeof bound === 'object' && bound ? bound.port : port;
    },
    async stop() {
      server.close();
      server.closeAllConnections();
      await once(server, 'close').catch(() => undefined);
    },
  };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new Refusal(400, 'the name cannot be read');
  }
}

function configurationOf(header: string | string[] | undefined): z.infer<typeof configuration> {
  try {
    return configuration.parse(JSON.parse(String(header)));
  } catch {
    throw new Refusal(400, 'x-configuration says how the image is started: {"entrypoint": [...], "env": {...}}');
  }
}

/** tar itself takes leading slashes and ways out of the folder away. */
async function unpack(archive: IncomingMessage, folder: string, maxBytes: number): Promise<void> {
  // Past the zeros that end an archive it reads on to the end of the stream, or it would leave before all is sent.
  const tar = spawn('tar', ['--extract', '--ignore-zeros', '--file=-', `--directory=${folder}`, '--no-same-owner'], {
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  const ended = once(tar, 'close') as Promise<[number | null]>;
  let size = 0;
  const bounded = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      size += chunk.length;
      done(size > maxBytes ? new Refusal(413, 'the image is too large') : null, chunk);
    },
  });
  try {
    await pipeline(archive, bounded, tar.stdin);
  } catch (error) {
    // A stream to a program that has read everything and ended may close before it has finished: its code tells.
    if (error instanceof Refusal || !archive.complete) {
      tar.kill('SIGKILL');
      await ended;
      throw error instanceof Refusal ? error : new Refusal(400, 'the archive broke off');
    }
  }
  const [code] = await ended;
  if (code !== 0) throw new Refusal(400, 'the archive cannot be read');
}
