import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Logger } from 'pino';
import { goPackages, goSearchPath } from '../images/builder/go-packages.ts';

/** Go's standard library, compiled once for all builds of this machine: docs/decisions/0106-compiled-go-packages.md. */
export interface GoCache {
  /**
   * The folder with the compiled packages for the machine's toolchain, which are compiled now if they are missing. Builds
   * copy it. @returns undefined without a toolchain, or when they could not be compiled since the start of this process
   */
  find(): Promise<string | undefined>;
  /** Ends a compilation. */
  stop(): Promise<void>;
}

/** What decides whether builds find what was compiled: https://pkg.go.dev/cmd/go#hdr-Environment_variables */
const identity = ['GOVERSION', 'GOROOT', 'CGO_ENABLED', 'CC'];

/**
 * Only this process writes to the folder, and nothing but the toolchain's own source is compiled into it, so no build decides
 * what another one finds there. @param options.path the PATH of pods
 */
export function createGoCache({ folder, path, log }: { folder: string; path: string; log: Logger }): GoCache {
  const compilations = new Map<string, Promise<string | undefined>>();
  const stopping = new AbortController();
  // Without the user's own settings and modules, which builds do not have either, and without a place for Go's statistics.
  const env = { PATH: goSearchPath(path), HOME: '/dev/null', GOENV: 'off', GOTOOLCHAIN: 'local' };
  const cwd = '/';

  const compile = async (name: string): Promise<string | undefined> => {
    const work = join(folder, 'incomplete');
    try {
      await rm(work, { recursive: true, force: true });
      await mkdir(work, { recursive: true });
      // Two compilers at a time, so that the machine's other processors stay free. Without the niceness of builds: this is
      // done once, and someone waits for it.
      const go = spawn('go', ['build', '-p', '2', ...goPackages], {
        cwd,
        env: { ...env, GOCACHE: work },
        stdio: 'ignore',
        detached: true,
      });
      const { pid } = go;
      if (pid !== undefined) {
        stopping.signal.addEventListener('abort', () => endGroup(pid));
        if (stopping.signal.aborted) endGroup(pid);
      }
      const [code] = (await once(go, 'close')) as [number | null];
      if (code !== 0) throw new Error(`go build ended with ${code ?? 'a signal'}`);
      // A build that copies an older one at this moment goes on without it.
      const older = (await readdir(folder)).filter((entry) => entry !== 'incomplete');
      for (const entry of older) await rm(join(folder, entry), { recursive: true, force: true });
      await rename(work, join(folder, name));
      log.info({ packages: name }, 'packages of Go compiled for builds');
      return join(folder, name);
    } catch (error) {
      await rm(work, { recursive: true, force: true });
      if (!stopping.signal.aborted) log.warn({ err: error }, 'packages of Go not compiled; each build compiles them');
      return undefined;
    }
  };

  return {
    async find() {
      if (stopping.signal.aborted) return undefined;
      const answer = await promisify(execFile)('go', ['env', ...identity], { cwd, env }).catch(() => undefined);
      if (!answer) return undefined;
      const name = encodeURIComponent(answer.stdout.trim().split('\n').join(' '));
      const target = join(folder, name);
      if (existsSync(target)) return target;
      // One at a time, because each removes what others left.
      const earlier = Promise.all(compilations.values());
      const compilation = compilations.get(name) ?? earlier.then(() => compile(name));
      compilations.set(name, compilation);
      return compilation;
    },
    async stop() {
      stopping.abort();
      await Promise.all(compilations.values());
    },
  };
}

/** Go's compilers are processes of its own. */
function endGroup(leader: number): void {
  try {
    process.kill(-leader, 'SIGKILL');
  } catch {
    // It has ended already.
  }
}
