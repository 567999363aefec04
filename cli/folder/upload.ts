import { hash } from 'node:crypto';
import { open } from 'node:fs/promises';
import type { z } from 'zod';
import { chunksMissing, chunksStored, type sourceBuildCreate } from '../../runtime/contracts/api/sources.ts';
import { chunkBytes, digestsMax, storedChunksMax } from '../../runtime/domain/source-files.ts';
import { Failure } from '../failure.ts';
import type { Scope } from '../scope.ts';
import { isTemporary } from '../wait.ts';
import type { LocalFile } from './files.ts';

type SentFile = z.input<typeof sourceBuildCreate>['files'][number];

/** Content of the chunks of one request, in bytes: base64 makes it a third larger. */
const requestBytes = 2 * 1024 * 1024;
const attempts = 5;
const pauseMs = 1_000;

/** One chunk, and where its content is. */
interface Chunk {
  digest: string;
  file: string;
  position: number;
  length: number;
}

/** A folder as this machine read it. */
export interface ReadFolder {
  files: SentFile[];
  chunks: Map<string, Chunk>;
  bytes: number;
}

/** Reads the files' content for its digests; it is not kept in memory. @throws Failure for one that changes meanwhile */
export async function readFolder(files: readonly LocalFile[]): Promise<ReadFolder> {
  const chunks = new Map<string, Chunk>();
  const sent: SentFile[] = [];
  let bytes = 0;
  for (const { path, kind, size, target, file } of files) {
    if (kind === 'link') {
      sent.push({ path, kind, ...(target !== undefined && { target }) });
      continue;
    }
    const digests: string[] = [];
    for await (const { content, position } of contentOf(file, size)) {
      const digest = hash('sha256', content, 'hex');
      digests.push(digest);
      chunks.set(digest, { digest, file, position, length: content.length });
    }
    bytes += size;
    sent.push({ path, ...(kind === 'program' && { kind }), chunks: digests, size });
  }
  return { files: sent, chunks, bytes };
}

async function* contentOf(file: string, size: number): AsyncGenerator<{ content: Buffer; position: number }> {
  if (size === 0) return;
  const handle = await open(file, 'r');
  try {
    for (let position = 0; position < size; position += chunkBytes) {
      const length = Math.min(chunkBytes, size - position);
      const { buffer, bytesRead } = await handle.read(Buffer.alloc(length), 0, length, position);
      if (bytesRead < length) throw changedMeanwhile(file);
      yield { content: buffer, position };
    }
  } finally {
    await handle.close();
  }
}

/**
 * Sends the chunks that the project does not have. An upload that was interrupted continues where it stopped.
 * @param progress called with the bytes that are sent, and those to send
 * @returns the bytes that were sent
 */
export async function uploadMissing(
  scope: Scope,
  { chunks }: ReadFolder,
  { sleep, progress }: { sleep: (ms: number) => Promise<void>; progress: (sent: number, total: number) => void },
): Promise<number> {
  const missing: Chunk[] = [];
  const digests = [...chunks.keys()];
  for (let start = 0; start < digests.length; start += digestsMax) {
    const body = { digests: digests.slice(start, start + digestsMax) };
    const answer = await retried(sleep, () =>
      scope.api.call('POST', scope.path('sources', 'missing'), chunksMissing, { body }),
    );
    for (const digest of answer.missing) {
      const chunk = chunks.get(digest);
      if (chunk) missing.push(chunk);
    }
  }
  const total = missing.reduce((sum, { length }) => sum + length, 0);
  let sent = 0;
  for (const group of groups(missing)) {
    const contents = await Promise.all(group.map(readChunk));
    const body = { chunks: contents.map((content) => content.toString('base64')) };
    await retried(sleep, () => scope.api.call('POST', scope.path('sources', 'chunks'), chunksStored, { body }));
    sent += contents.reduce((sum, { length }) => sum + length, 0);
    progress(sent, total);
  }
  return total;
}

/** Storing a chunk twice changes nothing, so a request whose response was lost is repeated. */
async function retried<T>(sleep: (ms: number) => Promise<void>, call: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await call();
    } catch (error) {
      const busy = error instanceof Failure && (error.code === 'overloaded' || error.code === 'too_many_requests');
      if (attempt >= attempts || (!busy && !isTemporary(error))) throw error;
      await sleep(pauseMs * attempt);
    }
  }
}

function* groups(chunks: readonly Chunk[]): Generator<Chunk[]> {
  let group: Chunk[] = [];
  let bytes = 0;
  for (const chunk of chunks) {
    if (group.length > 0 && (bytes + chunk.length > requestBytes || group.length >= storedChunksMax)) {
      yield group;
      group = [];
      bytes = 0;
    }
    group.push(chunk);
    bytes += chunk.length;
  }
  if (group.length > 0) yield group;
}

async function readChunk({ file, position, length, digest }: Chunk): Promise<Buffer> {
  const handle = await open(file, 'r');
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(length), 0, length, position);
    if (bytesRead < length || hash('sha256', buffer, 'hex') !== digest) throw changedMeanwhile(file);
    return buffer;
  } finally {
    await handle.close();
  }
}

function changedMeanwhile(file: string): Failure {
  return new Failure(`${file} changed while it was read.`, { code: 'invalid_source', hint: 'run the command again' });
}
