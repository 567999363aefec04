import { spawn } from 'node:child_process';
import { ClusterProblem } from './problem.ts';

/** Options of a command. */
export interface CommandOptions {
  /** Text for its standard input; default none. */
  readonly input?: string;
  readonly cwd?: string;
  /** Its complete environment; default that of this process. */
  readonly environment?: NodeJS.ProcessEnv;
  /** Called with each line of its standard error, as it comes. */
  readonly onErrorLine?: (line: string) => void;
}

/** The result of a command. */
export interface CommandResult {
  /** Exit code, or -1 when a signal ended it or it could not be started. */
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a command without a shell. Never rejects: a command that cannot be started has code -1. */
export function attempt(
  program: string,
  parameters: readonly string[],
  options: CommandOptions = {},
): Promise<CommandResult> {
  return new Promise((resolve) => {
    const child = spawn(program, parameters, {
      cwd: options.cwd,
      env: options.environment ?? process.env,
      stdio: [options.input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
    });
    let stdout = '';
    let stderr = '';
    let partial = '';
    child.stdout?.setEncoding('utf8').on('data', (text: string) => (stdout += text));
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      stderr += text;
      const lines = (partial + text).split('\n');
      partial = lines.pop() ?? '';
      for (const line of lines) options.onErrorLine?.(line);
    });
    child.on('error', (error) => resolve({ code: -1, stdout, stderr: error.message }));
    child.on('close', (code) => resolve({ code: code ?? -1, stdout, stderr }));
    if (options.input !== undefined && child.stdin !== null) {
      // The exit code decides, even if the command ends before it has read its input.
      child.stdin.on('error', () => undefined);
      child.stdin.end(options.input);
    }
  });
}

/**
 * Runs a command without a shell and returns its standard output.
 * @throws ClusterProblem with the end of its standard error when its exit code is not 0
 */
export async function run(
  program: string,
  parameters: readonly string[],
  options: CommandOptions = {},
): Promise<string> {
  const result = await attempt(program, parameters, options);
  if (result.code === 0) return result.stdout;
  const tail = result.stderr.trimEnd().split('\n').slice(-15).join('\n');
  throw new ClusterProblem(
    `${program} ${parameters.slice(0, 4).join(' ')} failed (exit code ${result.code}):\n${tail}`,
  );
}
