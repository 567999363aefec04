import { spawn } from 'node:child_process';
import type { Context } from './context.ts';

const openers: Readonly<Partial<Record<NodeJS.Platform, string>>> = { darwin: 'open', win32: 'explorer' };

/** Opens an address in the browser, with the program in BROWSER or the system's; says so when there is none. */
export async function openInBrowser(context: Pick<Context, 'env' | 'say'>, url: string): Promise<void> {
  const program = context.env['BROWSER'] || (openers[process.platform] ?? 'xdg-open');
  const child = spawn(program, [url], { stdio: 'ignore', detached: true });
  const failure = await new Promise<Error | undefined>((resolve) => {
    child.once('error', resolve);
    child.once('spawn', () => resolve(undefined));
  });
  child.unref();
  if (failure) context.say(`cannot open a browser (${program}); open ${url} yourself`);
}
