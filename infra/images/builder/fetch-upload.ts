import { chmodSync, createWriteStream, mkdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { once } from 'node:events';
import { request, type IncomingMessage } from 'node:http';
import { dirname, join, resolve } from 'node:path';
import { finished } from 'node:stream/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { headerMaxBytes, type FileHeader } from '../../../runtime/domain/source-stream.ts';
import { sourceFolder } from './clone.ts';
import { BuildFailure } from './failure.ts';
import type { BuildSettings } from './settings.ts';

/** With their pauses, they take longer than console-api is away when its process was killed. */
const attempts = 12;
const pauseFactorMax = 5;
/** When nothing arrives for this long, the fetch is tried again, in ms. */
const silentMs = 30_000;

/** A failure that another attempt may not have. */
class Interruption extends Error {}

/**
 * Fetches the uploaded folder into `<workspace>/source`, with the token that only this step has.
 * @param options.pauseMs after the first attempt, and up to five times as long after the others; default 1 s
 * @throws BuildFailure
 */
export async function fetchUpload(
  { workspace, sourceUrl, pauseMs = 1_000 }: Pick<BuildSettings, 'workspace'> & { sourceUrl: string; pauseMs?: number },
  credentialsFolder: string,
): Promise<{ files: number }> {
  const token = readToken(join(credentialsFolder, 'sourceToken'));
  const folder = sourceFolder(workspace);
  for (let attempt = 1; ; attempt++) {
    try {
      rmSync(folder, { recursive: true, force: true });
      mkdirSync(folder, { recursive: true });
      const { files, bytes } = await receive(await open(sourceUrl, token), folder);
      process.stdout.write(`fetched ${files} ${files === 1 ? 'file' : 'files'}, ${sizeText(bytes)}\n`);
      return { files };
    } catch (error) {
      if (!(error instanceof Interruption)) throw error;
      if (attempt >= attempts) throw new BuildFailure(`the uploaded files cannot be fetched: ${error.message}`);
      process.stdout.write(`${error.message}; trying again\n`);
      await sleep(pauseMs * Math.min(attempt, pauseFactorMax));
    }
  }
}

function readToken(file: string): string {
  try {
    return readFileSync(file, 'utf8').trim();
  } catch {
    throw new BuildFailure('the build was stopped before it could fetch the uploaded files');
  }
}

function open(url: string, token: string): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { headers: { authorization: `Bearer ${token}` } });
    sent.setTimeout(silentMs, () => sent.destroy(new Error('the platform does not answer')));
    sent.once('error', (error) => reject(new Interruption(error.message)));
    sent.once('response', (response) => {
      const { statusCode = 0 } = response;
      if (statusCode === 200) return resolve(response);
      response.resume();
      if (statusCode >= 500) reject(new Interruption(`the platform answered ${statusCode}`));
      else reject(new BuildFailure('the uploaded files are no longer available: deploy the folder again'));
    });
    sent.end();
  });
}

/** Writes the files of a response. @throws Interruption when it ends early */
async function receive(response: IncomingMessage, folder: string): Promise<{ files: number; bytes: number }> {
  const reader = createReader(response);
  const total = { files: 0, bytes: 0 };
  try {
    for (;;) {
      const line = await reader.line();
      if (line === '') return total;
      const header = JSON.parse(line) as FileHeader;
      await write(header, folder, reader.bytes(header.size));
      total.files++;
      total.bytes += header.size;
    }
  } finally {
    // The end of the response is not read, so its connection would keep this process alive until the server closes it.
    response.destroy();
  }
}

/** The platform has checked the paths; this step, too, never writes outside its folder. */
async function write({ path, kind, target = '' }: FileHeader, folder: string, content: AsyncIterable<Buffer>) {
  const file = join(folder, path);
  if (!resolve(file).startsWith(`${folder}/`)) throw new BuildFailure(`the path ${path} is outside the folder`);
  mkdirSync(dirname(file), { recursive: true });
  if (kind === 'link') {
    symlinkSync(target, file);
    return;
  }
  // `wx`: nothing that exists is followed or replaced.
  const output = createWriteStream(file, { flags: 'wx', mode: 0o644 });
  try {
    for await (const part of content) if (!output.write(part)) await once(output, 'drain');
    output.end();
    await finished(output);
  } finally {
    output.destroy();
  }
  if (kind === 'program') chmodSync(file, 0o755);
}

/** Reads lines and numbers of bytes from a response, in turn. */
function createReader(response: IncomingMessage) {
  const chunks = response[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
  let rest: Buffer = Buffer.alloc(0);
  const more = async () => {
    try {
      const { done, value } = await chunks.next();
      if (!done) return value;
    } catch (error) {
      throw new Interruption(error instanceof Error ? error.message : String(error));
    }
    throw new Interruption('the connection ended early');
  };
  return {
    async line(): Promise<string> {
      for (;;) {
        const end = rest.indexOf(0x0a);
        if (end >= 0) {
          const text = rest.toString('utf8', 0, end);
          rest = rest.subarray(end + 1);
          return text;
        }
        if (rest.length > headerMaxBytes) throw new Interruption('the platform sent a line that is too long');
        rest = Buffer.concat([rest, await more()]);
      }
    },
    async *bytes(size: number): AsyncGenerator<Buffer> {
      for (let missing = size; missing > 0;) {
        if (rest.length === 0) rest = await more();
        const part = rest.subarray(0, missing);
        rest = rest.subarray(part.length);
        missing -= part.length;
        yield part;
      }
    },
  };
}

function sizeText(bytes: number): string {
  return bytes < 1024 * 1024 ? `${Math.ceil(bytes / 1024)} KiB` : `${(bytes / 1024 ** 2).toFixed(1)} MiB`;
}
