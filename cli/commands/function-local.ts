import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, watch } from 'node:fs';
import { createServer } from 'node:net';
import { basename, dirname, join, resolve } from 'node:path';
import { functionNode } from '../../infra/local/programs.ts';
import { functionRuntimes, type FunctionRuntime } from '../../runtime/contracts/resources/function.ts';
import { command } from '../command.ts';
import type { Context } from '../context.ts';
import { Failure, usageFailure } from '../failure.ts';
import { amount, choice, requiredText, texts, toggle } from '../flags.ts';
import { runtimeOf } from '../input-file.ts';

const images = join(import.meta.dirname, '../../infra/images');
/** The programs of the runtime images. */
const programs: Readonly<Record<FunctionRuntime, readonly [program: string, ...args: string[]]>> = {
  node: [functionNode(), join(images, 'function-node/server.mjs')],
  python: ['python3', '-B', join(images, 'function-python/main.py')],
};
/** The wait after a change of the file, since editors write a file in several steps. */
const settleMs = 100;

export const runCommand = command({
  name: 'run',
  args: [],
  description: 'Run a function on this machine, and restart it when its file changes.',
  flags: {
    codeFile: requiredText('<file>', 'source file with the handler; imports are relative to it'),
    runtime: choice(functionRuntimes, 'runtime (default python for *.py, otherwise node)'),
    port: amount('<port>', 'port to listen on (default 8080)', { min: 1, max: 65_535 }),
    env: texts('<KEY=value>', 'environment variable'),
    once: toggle('run once, like a scheduled run, and exit'),
  },
  examples: [
    'svc function run --code-file hello.js',
    'svc function run --code-file hello.py --port 9000 --env GREETING=hi',
    'svc function run --code-file nightly.js --once',
  ],
  async run({ context, flags }) {
    const file = resolve(flags.codeFile);
    if (!existsSync(file)) throw usageFailure(`File ${flags.codeFile} does not exist.`);
    const runtime = flags.runtime ?? runtimeOf(file);
    const port = flags.port ?? 8080;
    const variables = variablesOf(flags.env);
    const start = () =>
      startRuntime(context, runtime, {
        ...variables,
        SVC_CODE_FILE: file,
        PORT: String(port),
        // Pods that serve requests have neither variable.
        ...(flags.once && { SVC_MODE: 'batch', SVC_TRIGGER: 'test' }),
      });
    if (flags.once) {
      const code = await exitCodeOf(start());
      if (code !== 0) throw new Failure('The run failed; see the log above.', { code: 'run_failed' });
      return;
    }
    await checkFree(port);
    context.say(`serving ${flags.codeFile} (${runtime}) on http://localhost:${port}; press Ctrl-C to stop`);
    await runUntilInterrupted(context, file, start);
  },
});

/** Checks the port before the runtime starts, for an error message with advice. @throws Failure `port_in_use` */
async function checkFree(port: number): Promise<void> {
  const probe = createServer().listen(port);
  try {
    await once(probe, 'listening');
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    throw new Failure(`Cannot listen on port ${port} (${code}); choose another port with --port.`, {
      code: 'port_in_use',
      cause: error,
    });
  } finally {
    probe.close();
  }
}

/** @throws Failure (usage) */
function variablesOf(pairs: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    pairs.map((pair) => {
      const split = pair.indexOf('=');
      if (split < 1) throw usageFailure(`--env takes KEY=value, not "${pair}".`);
      return [pair.slice(0, split), pair.slice(split + 1)];
    }),
  );
}

function startRuntime({ env, stdout }: Context, runtime: FunctionRuntime, variables: NodeJS.ProcessEnv): ChildProcess {
  const [program, ...args] = programs[runtime];
  // Only the variables that programs need: pods on the platform do not have this machine's variables either.
  const child = spawn(program, args, {
    env: { PATH: env['PATH'], HOME: env['HOME'], ...variables },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  child.stdout?.on('data', (chunk: Buffer) => stdout.write(chunk));
  return child;
}

/** Waits for the exit code (1 after a signal). @throws Failure when the program cannot be started */
function exitCodeOf(child: ChildProcess): Promise<number> {
  return new Promise((resolveCode, reject) => {
    child.once('error', (error) =>
      reject(new Failure(`Cannot start ${child.spawnfile}: ${error.message}`, { code: 'not_installed' })),
    );
    child.once('close', (code) => resolveCode(code ?? 1));
  });
}

/** Restarts the program after every change of the file, also when it has exited. */
async function runUntilInterrupted(context: Context, file: string, start: () => ChildProcess): Promise<void> {
  let changed = Promise.withResolvers<'changed'>();
  let timer: NodeJS.Timeout | undefined;
  const watcher = watch(dirname(file), (_, name) => {
    if (name !== basename(file)) return;
    clearTimeout(timer);
    timer = setTimeout(() => changed.resolve('changed'), settleMs);
  });
  const interrupted = Promise.withResolvers<'interrupted'>();
  const listening = context.onInterrupt?.(() => interrupted.resolve('interrupted'));
  try {
    for (;;) {
      const child = start();
      const end = exitCodeOf(child);
      const stopped = end.then(() => 'ended' as const);
      let next: 'changed' | 'interrupted' | 'ended' = await Promise.race([
        changed.promise,
        interrupted.promise,
        stopped,
      ]);
      if (next === 'ended') {
        context.say('the function has exited; it restarts when the file changes');
        next = await Promise.race([changed.promise, interrupted.promise]);
      }
      child.kill('SIGTERM');
      await end;
      if (next === 'interrupted') return;
      changed = Promise.withResolvers();
      context.say('the file has changed; restarting');
    }
  } finally {
    clearTimeout(timer);
    watcher.close();
    listening?.();
  }
}
