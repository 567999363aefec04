import { command, type Command } from '../command.ts';
import { scopeFlags } from '../common-flags.ts';
import { execFlags } from '../exec-flags.ts';
import { text } from '../flags.ts';
import { resolveScope } from '../scope.ts';

const kinds = {
  app: {
    collection: 'apps',
    of: 'an app',
    examples: ['-it api -- sh', 'api -- printenv', '-i api -- tar x < files.tar'],
  },
  function: { collection: 'functions', of: 'a function', examples: ['resize -- ls -l', '-it resize -- sh'] },
  job: { collection: 'jobs', of: 'a job that runs', examples: ['report -- ps', '-it report -- sh'] },
} as const;

/** `svc app exec`, and the same for functions and jobs. Its exit code is that of the command. */
export function execCommand(kind: keyof typeof kinds): Command {
  const { collection, of, examples } = kinds[kind];
  const { output: _, ...flags } = scopeFlags;
  return command({
    name: 'exec',
    args: [kind],
    words: 'command',
    description: `Run a command in a pod of ${of} (deployers; audited).`,
    flags: { ...execFlags, pod: text('<pod>', 'pod to use (default: the newest ready one)'), ...flags },
    examples: examples.map((example) => `svc ${kind} exec ${example}`),
    async run({ context, args, words, flags: { stdin, tty, pod, ...names } }) {
      const { execProtocol } = await import('../../runtime/contracts/exec-channels.ts');
      const { runInContext } = await import('../exec-session.ts');
      const scope = resolveScope(context, names);
      const { [kind]: name = '' } = args as Record<string, string>;
      const socket = await scope.api.open(scope.path(collection, name, 'exec'), execProtocol, {
        ...scope.query,
        command: words,
        pod,
        ...(stdin && { stdin: 'true' }),
        ...(tty && { tty: 'true' }),
      });
      return runInContext(context, socket, { stdin, tty });
    },
  });
}
