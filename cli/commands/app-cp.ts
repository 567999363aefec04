import { command } from '../command.ts';
import { scopeFlags } from '../common-flags.ts';
import { usageFailure } from '../failure.ts';
import { text } from '../flags.ts';
import { resolveScope } from '../scope.ts';

const { output: _, ...flags } = scopeFlags;

export const copyCommand = command({
  name: 'cp',
  args: ['from', 'to'],
  description: 'Copy a file to or from a pod of an app (deployers; audited).',
  flags: { pod: text('<pod>', 'pod to use (default: the newest ready one)'), ...flags },
  examples: ['svc app cp backup.sql api:/tmp/', 'svc app cp api:/data/report.pdf .'],
  async run({ context, args, flags: { pod, ...names } }) {
    const [from, to] = [placeOf(args.from), placeOf(args.to)];
    const app = from.app ?? to.app;
    if (app === undefined || (from.app !== undefined && to.app !== undefined)) {
      throw usageFailure('Exactly one of the two paths must be in an app, such as api:/data/report.pdf.');
    }
    const { execProtocol } = await import('../../runtime/contracts/exec-channels.ts');
    const { copyFromPod, copyToPod } = await import('../file-copy.ts');
    const scope = resolveScope(context, names);
    const open = (words: readonly string[], input: boolean) =>
      scope.api.open(scope.path('apps', app, 'exec'), execProtocol, {
        ...scope.query,
        command: words,
        pod,
        ...(input && { stdin: 'true' }),
      });
    const copy = from.app === undefined ? copyToPod : copyFromPod;
    const bytes = await copy(open, from.path, to.path);
    context.say(`copied ${bytes} bytes`);
  },
});

/** A place on the command line: `api:/data` is in a pod of the app, and `./a:b` on this machine. */
function placeOf(argument: string): { app?: string; path: string } {
  const [, app, path] = /^([a-z0-9][a-z0-9-]*):(.*)$/s.exec(argument) ?? [];
  if (app === undefined || path === undefined) return { path: argument };
  if (path === '') throw usageFailure(`"${argument}" names no file; use ${app}:<path>.`);
  return { app, path };
}
