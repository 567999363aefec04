import { once } from 'node:events';
import { join } from 'node:path';
import { setForemost, startProgram } from './cores.ts';
import type { LoadOptions, LoadResult, LoadTarget } from './load.ts';
import type { LoadOrder, LoadReply } from './load-process.ts';

const program = join(import.meta.dirname, 'load-process.ts');

/** The load generator in a separate process, for any number of targets, one at a time. */
export interface LoadClient {
  /** Builds the requests for a target that later runs name. */
  prepare(target: string, prepared: LoadTarget): Promise<void>;
  /** At a given rate the generator has priority on its core. */
  run(target: string, options: LoadOptions): Promise<LoadResult>;
  stop(): void;
}

/** Starts the process. @param core default that of this process */
export function startLoad(core?: number): LoadClient {
  const child = startProgram(program, {
    ...(core !== undefined && { core }),
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  const ask = async (order: LoadOrder): Promise<LoadResult | undefined> => {
    child.send(order);
    const [reply] = (await once(child, 'message')) as [LoadReply];
    if ('error' in reply) throw new Error(reply.error);
    return reply.result;
  };
  return {
    async prepare(target, prepared) {
      await ask({ target, prepare: prepared });
    },
    async run(target, options) {
      const { pid } = child;
      const paced = options.rate !== undefined && pid !== undefined;
      if (paced) setForemost(pid, true);
      const result = await ask({ target, run: options }).finally(() => paced && setForemost(pid, false));
      if (!result) throw new Error('a run without a result');
      return result;
    },
    stop() {
      child.kill('SIGKILL');
    },
  };
}
