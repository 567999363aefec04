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
import { runtimeOf } from '../given-file.ts';

const images = join(import.meta.dirname, '../../infra/images');
/** The programs that the runtimes' images carry. */
const programs: Readonly<Record<FunctionRuntime, readonly [program: string, ...args: string[]]>> = {
  node: [functionNode(), join(images, 'function-node/server.mjs')],
  python: ['python3', '-B', join(images, 'function-python/main.py')],
};
/** Editors write a file in several steps. */
const settleMs = 100;

export const runCommand = command({
  name: 'run',
  args: [],
  description:
    'Run a function on this machine, with the runtime that the platform has, and anew whenever its file changes.',
  flags: {
    codeFile: requiredText('<file>', 'source file with the handler; what it imports is found beside it'),
    runtime: choice(functionRuntimes, 'default python for *.py, else node'),
    port: amount('<port>', 'port on which it listens (default 8080)', { min: 1, max: 65_535 }),
    env: texts('<KEY=value>', 'environment variable'),
    once: toggle('call it once, as a schedule would, and end'),
  },
  examples: [
    'svc function run --code-file hello.js',
    'svc function run --code-file hello.py --port 9000 --env GREETING=hi',
    'svc function run --code-file nightly.js --once',
  ],
  async run({ context, flags }) {
    const file = resolve(flags.codeFile);
    if (!existsSync(file)) throw usageFailure(`There is no file ${flags.codeFile}.`);
    const runtime = flags.runtime ?? runtimeOf(file);
    const port = flags.port ?? 8080;
    const variables = variablesOf(flags.env);
    const start = () =>
      startRuntime(context, runtime, {
        ...variables,
        ...{ SVC_CODE_FILE: file, PORT: String(port) },
        // Pods that serve have neither.
        ...(flags.once && { SVC_MODE: 'batch', SVC_TRIGGER: 'test' }),
      });
    if (flags.once) {
      const code = await ended(start());
      if (code !== 0) throw new Failure('The run failed; its log is above.', { code: 'run_failed' });
      return;
    }
    await checkFree(port);
    context.say(`http://localhost:${port} runs ${flags.codeFile} on ${runtime}; Ctrl-C ends it`);
    await untilInterrupted(context, file, start);
  },
});

/** @throws Failure `port_in_use`: the program would say so too, but not what to do */
async function checkFree(port: number): Promise<void> {
  const probe = createServer().listen(port);
  try {
    await once(probe, 'listening');
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    throw new Failure(`Nothing more can listen on port ${port} (${code}); choose another one with --port.`, {
      code: 'port_in_use',
      cause: error,
    });
  } finally {
    probe.close();
  }
}

/** @throws Failure (usage) */
function variablesOf(given: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    given.map((pair) => {
      const split = pair.indexOf('=');
      if (split < 1) throw usageFailure(`--env takes KEY=value; not "${pair}".`);
      return [pair.slice(0, split), pair.slice(split + 1)];
    }),
  );
}

function startRuntime({ env, stdout }: Context, runtime: FunctionRuntime, variables: NodeJS.ProcessEnv): ChildProcess {
  const [program, ...args] = programs[runtime];
  // Of this machine's environment only what programs need to be found: the platform's pods have no more either.
  const child = spawn(program, args, {
    env: { PATH: env['PATH'], HOME: env['HOME'], ...variables },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  child.stdout?.on('data', (chunk: Buffer) => stdout.write(chunk));
  return child;
}

/** The exit code; 1 for one that a signal ended. @throws Failure when the program cannot be started */
function ended(child: ChildProcess): Promise<number> {
  return new Promise((resolveCode, reject) => {
    child.once('error', (error) =>
      reject(new Failure(`${child.spawnfile} cannot be started: ${error.message}`, { code: 'not_installed' })),
    );
    child.once('close', (code) => resolveCode(code ?? 1));
  });
}

/** Starts anew after every change of the file; one that ends by itself waits for the next. */
async function untilInterrupted(context: Context, file: string, start: () => ChildProcess): Promise<void> {
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
      const end = ended(child);
      const stopped = end.then(() => 'ended' as const);
      let next: 'changed' | 'interrupted' | 'ended' = await Promise.race([
        changed.promise,
        interrupted.promise,
        stopped,
      ]);
      if (next === 'ended') {
        context.say('it has ended; it starts again when the file changes');
        next = await Promise.race([changed.promise, interrupted.promise]);
      }
      child.kill('SIGTERM');
      await end;
      if (next === 'interrupted') return;
      changed = Promise.withResolvers();
      context.say('the file has changed: started again');
    }
  } finally {
    clearTimeout(timer);
    watcher.close();
    listening?.();
  }
}
