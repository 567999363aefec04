import { performance } from 'node:perf_hooks';
import * as pty from '@lydell/node-pty';
import { maskSecrets } from '../demo/transcript.ts';
import { promptOf, type Cast, type CastEvent, type CastHeader } from './cast.ts';

/** Runs commands in a terminal and records them. */
export interface Recorder {
  /** Begins a part of the cast. */
  chapter(title: string): void;
  /** Types and runs a command. @param shown what is typed, if not the command @throws Error when it fails */
  type(command: string, shown?: string): Promise<void>;
  cast(): Cast;
}

const size = { width: 120, height: 30 };

/**
 * @param options.home the home folder, which is the working folder and shown as `~`
 * @param options.print gets what the terminal prints
 */
export function createRecorder(options: {
  title: string;
  home: string;
  env: Readonly<Record<string, string>>;
  print: (text: string) => void;
}): Recorder {
  const { title, home, env, print } = options;
  const startedAt = performance.now();
  const events: CastEvent[] = [];
  const add = (kind: CastEvent[1], text: string) => {
    events.push([Math.round(performance.now() - startedAt) / 1000, kind, text]);
    if (kind === 'o') print(text);
  };
  /** Whole lines, so that no secret is split. */
  let rest = '';
  const output = (data: string, isLast = false) => {
    rest += data;
    const end = isLast ? rest.length : Math.max(rest.lastIndexOf('\n'), rest.lastIndexOf('\r')) + 1;
    if (end > 0) add('o', maskSecrets(rest.slice(0, end)).replaceAll(home, '~'));
    rest = rest.slice(end);
  };
  return {
    chapter: (name) => add('m', name),
    async type(command, shown = command) {
      add('i', shown);
      add('o', promptOf(shown));
      const { width: cols, height: rows } = size;
      const child = pty.spawn('bash', ['-e', '-o', 'pipefail', '-c', command], { cols, rows, cwd: home, env });
      child.onData((data) => output(data));
      const { exitCode } = await new Promise<{ exitCode: number }>((resolve) => {
        child.onExit(resolve);
      });
      output('', true);
      if (exitCode !== 0) throw new Error(`The command ended with ${exitCode}: ${command}`);
    },
    cast: () => ({ header: headerOf(title), events }),
  };
}

function headerOf(title: string): CastHeader {
  return { version: 2, ...size, title, idle_time_limit: 2 };
}
