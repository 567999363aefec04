import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/**
 * The packages of Go's standard library that are compiled before any build, with all that they import: those of most servers.
 * On clusters, `infra/images/build-go/Dockerfile` compiles the same.
 */
export const goPackages = [
  'crypto/tls',
  'database/sql',
  'encoding/json',
  'html/template',
  'log/slog',
  'net/http',
  'net/http/httputil',
] as const;

/** Pods have the system's PATH, which lacks the folder that Go's own installation uses: https://go.dev/doc/install */
export const goSearchPath = (path: string) => `${path}:/usr/local/go/bin`;

/**
 * How long a build waits for packages that are compiled for the first time, in ms. They take 15 seconds, or minutes on a busy
 * machine, where a build that compiled them itself meanwhile would make both slower.
 */
const waitMs = 300_000;

/**
 * Runs a build with a cache of its own that begins with the compiled packages of the embedded cluster, if it has them. The
 * cache goes with the build, so what the build writes to it reaches no other one.
 * @param host of the image store
 */
export async function withGoPackages(
  host: string,
  build: (env: Record<string, string>) => Promise<void>,
): Promise<void> {
  const cache = await mkdtemp(join(tmpdir(), 'go-cache-'));
  try {
    await copyPackages(host, cache).catch(() =>
      process.stdout.write('no compiled packages of Go here; compiling them\n'),
    );
    await build({ GOCACHE: cache });
  } finally {
    await rm(cache, { recursive: true, force: true });
  }
}

/** @throws Error without them; what was copied until then is of use all the same */
async function copyPackages(host: string, cache: string): Promise<void> {
  const answer = await fetch(`http://${host}/go-packages`, { signal: AbortSignal.timeout(waitMs) });
  if (!answer.ok) throw new Error(`the image store answers ${answer.status}`);
  await cp(await answer.text(), cache, { recursive: true });
}
