import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Pool } from 'pg';
import type { Logger } from 'pino';
import { newId } from '../../runtime/domain/ids.ts';
import { Problem } from '../../runtime/domain/problem.ts';
import { chunkBytes, type SourceFile } from '../../runtime/domain/source-files.ts';
import type { FileHeader } from '../../runtime/domain/source-stream.ts';
import type { BodyMemory } from '../../runtime/http/body-memory.ts';
import { problemOf, problemTextOf } from '../../runtime/http/errors.ts';
import { closeDeploymentSource, openDeploymentSource, readChunks } from '../../runtime/records/sources.ts';

export interface SourceServerDependencies {
  pool: Pool;
  log: Logger;
  /** Shared with the process's other servers. */
  bodies: Pick<BodyMemory, 'discards'>;
  /** When a builder that does not read is disconnected, in ms; default 30 s. */
  silentMs?: number;
}

/** Content that is read at once, in bytes and in chunks. */
const batchBytes = 4 * 1024 * 1024;
const batchChunks = 200;

const pathShape = /^\/sources\/([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/;

/**
 * Sends a build the files of its deployment, `GET /sources/<deployment>`: once, to the holder of the token that the Build
 * controller issued to the step that fetches them.
 * @returns a listener that returns false, without answering, for any other path; it never rejects
 */
export function createSourceServer({ pool, log, bodies, silentMs = 30_000 }: SourceServerDependencies) {
  const serve = async (id: string, request: IncomingMessage, response: ServerResponse): Promise<void> => {
    if (request.method !== 'GET') throw new Problem('method_not_allowed', 'Use GET to fetch files.');
    const token = /^Bearer ([\w-]{40,100})$/.exec(request.headers.authorization ?? '')?.[1];
    const source = token === undefined ? undefined : await openDeploymentSource(pool, id, token);
    if (!source) throw new Problem('unauthenticated', 'The token is missing, wrong or used.');
    response.writeHead(200, { 'Content-Type': 'application/octet-stream' });
    const write = async (part: string | Buffer) => {
      if (response.destroyed) throw new Error('the builder disconnected');
      if (!response.write(part)) await once(response, 'drain', { signal: AbortSignal.timeout(silentMs) });
    };
    for (const batch of batches(source.files)) {
      const contents = await readChunks(pool, source.projectId, [...new Set(batch.flatMap(({ chunks }) => chunks))]);
      for (const { header, chunks } of batch) {
        if (header) await write(`${JSON.stringify(header)}\n`);
        for (const digest of chunks) {
          const content = contents.get(digest);
          // The builder sees that the response ends early.
          if (!content) throw new Error(`chunk ${digest} of deployment ${id} was deleted`);
          await write(content);
        }
      }
    }
    await write('\n');
    await closeDeploymentSource(pool, id);
    response.end();
  };

  return async (request: IncomingMessage, response: ServerResponse): Promise<boolean> => {
    const [, id] = pathShape.exec(request.url ?? '') ?? [];
    if (id === undefined) return false;
    // A builder sends no body, but any pod can send one without end.
    bodies.discards.discard(request);
    if (request.isPaused()) response.setHeader('Connection', 'close');
    try {
      await serve(id, request, response);
    } catch (error) {
      const problem = problemOf(error, newId());
      if (problem.status >= 500) log.warn({ err: error }, 'files of a build not sent');
      if (response.headersSent) response.destroy();
      else {
        response.writeHead(problem.status, { 'Content-Type': 'application/json' });
        response.end(problemTextOf(problem));
      }
    }
    return true;
  };
}

/** A file, or a part of one: only its first part has a header. */
interface Part {
  header?: FileHeader;
  chunks: string[];
}

/** The files in groups of limited size. Pure. */
function* batches(files: readonly SourceFile[]): Generator<Part[]> {
  let batch: Part[] = [];
  let [bytes, chunks] = [0, 0];
  for (const { path, kind, size, target, chunks: digests } of files) {
    const header = { path, kind, size, ...(target !== undefined && { target }) };
    let part: Part = { header, chunks: [] };
    batch.push(part);
    for (const [index, digest] of digests.entries()) {
      part.chunks.push(digest);
      bytes += Math.min(size - index * chunkBytes, chunkBytes);
      if (bytes < batchBytes && ++chunks < batchChunks) continue;
      yield batch;
      part = { chunks: [] };
      batch = [part];
      [bytes, chunks] = [0, 0];
    }
  }
  yield batch;
}
