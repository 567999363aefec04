import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { scopeFlags } from '../common-flags.ts';
import type { Context } from '../context.ts';
import { exitCodes, Failure, usageFailure } from '../failure.ts';
import type { FlagValues } from '../flags.ts';
import { resolveScope, type Scope } from '../scope.ts';
import { appKind } from './app-kind.ts';
import { functionKind } from './function-kind.ts';

const kinds = { app: appKind, function: functionKind } as const;

/** Runs `svc open`. */
export async function open(
  context: Context,
  { workload, name: named }: { workload: string; name: string | undefined },
  flags: FlagValues<typeof scopeFlags>,
): Promise<void> {
  if (workload === 'console' && named === undefined) {
    // The management API serves it.
    await show(context, flags, { name: 'console', url: context.address(flags) });
    return;
  }
  const name = named ?? workload;
  if (named !== undefined && workload !== 'app' && workload !== 'function') {
    throw usageFailure(`"${workload}" is not a kind of workload with a URL. Use app or function, or svc open console.`);
  }
  const scope = resolveScope(context, flags);
  const url = named === undefined ? await urlOfAny(scope, name) : await urlOf(scope, workload as 'app', name);
  await show(context, flags, { name, url });
}

/** Opens the address in a browser, or prints it where there is none. */
async function show(
  context: Context,
  { output }: FlagValues<typeof scopeFlags>,
  { name, url }: { name: string; url: string },
): Promise<void> {
  if (context.stdout.isTTY && output === undefined && (await openBrowser(context, url))) {
    context.say(`opening ${url}`);
    return;
  }
  context.print({ data: { name, url }, table: url, names: [url] }, output);
}

/** An app and a function cannot have the same name in an environment. @throws Failure `not_found` when neither exists */
async function urlOfAny(scope: Scope, name: string): Promise<string> {
  const reasons = new Set<string>();
  for (const kind of ['app', 'function'] as const) {
    try {
      return await urlOf(scope, kind, name);
    } catch (error) {
      if (!(error instanceof Failure) || error.code !== 'not_found') throw error;
      // The same reason for both is a missing project or environment.
      if (reasons.has(error.message)) throw error;
      reasons.add(error.message);
    }
  }
  throw new Failure(`There is no app or function "${name}".`, {
    code: 'not_found',
    hint: `list them: svc app list ${scope.flags}, svc function list ${scope.flags}`,
  });
}

/** @throws Failure when it has no URL */
async function urlOf(scope: Scope, kind: keyof typeof kinds, name: string): Promise<string> {
  const { url } = await kinds[kind].read(scope, name);
  // A program that opens addresses would also take a file or an option.
  if (url !== undefined && /^https?:\/\//.test(url)) return url;
  throw new Failure(`The ${kind} "${name}" has no URL.`, { code: 'invalid_value', exitCode: exitCodes.usage });
}

/** @returns whether a browser was started */
export async function openBrowser({ env }: Context, url: string): Promise<boolean> {
  // A program that opens addresses would also take a file or an option.
  if (!/^https?:\/\//.test(url)) return false;
  const isMac = process.platform === 'darwin';
  if (!isMac && !env['DISPLAY'] && !env['WAYLAND_DISPLAY']) return false;
  const browser = spawn(isMac ? 'open' : 'xdg-open', [url], { stdio: 'ignore', detached: true, env });
  try {
    await once(browser, 'spawn');
  } catch {
    return false;
  }
  browser.unref();
  return true;
}
