import { podList, type PodView } from '../../runtime/contracts/api/pods.ts';
import { paintFor, type Tone } from '../colour.ts';
import { command } from '../command.ts';
import { scopeFlags } from '../common-flags.ts';
import { ago, table, type Column } from '../output.ts';
import { resolveScope } from '../scope.ts';

const phrases = { app: 'an app', function: 'a function' };
const tones: Readonly<Partial<Record<PodView['status'], Tone>>> = { failing: 'danger', starting: 'warning' };
const examples = { app: 'api', function: 'hello' };

/** `svc app pods` and `svc function pods`. */
export function podsCommand(kind: 'app' | 'function') {
  return command({
    name: 'pods',
    args: [kind],
    description: `List the pods of ${phrases[kind]}, newest first.`,
    flags: scopeFlags,
    watch: true,
    examples: [`svc ${kind} pods ${examples[kind]}`, `svc ${kind} pods ${examples[kind]} --watch`],
    async run({ context, args, flags }) {
      const scope = resolveScope(context, flags);
      const path = scope.path(`${kind}s`, args[kind], 'pods');
      const { items } = await scope.api.call('GET', path, podList, { query: scope.query });
      const rows = table(items, columnsOf(kind, context.clock.now()), paintFor(context));
      context.print({ data: items, table: rows, names: items.map(({ name }) => name) }, flags.output);
    },
  });
}

function columnsOf(kind: 'app' | 'function', now: Date): Column<PodView>[] {
  return [
    { title: 'POD', value: ({ name }) => name },
    { title: 'STATUS', value: ({ status }) => status, tone: ({ status }) => tones[status] },
    ...(kind === 'app' ? [{ title: 'REVISION', value: ({ revision }: PodView) => revision }] : []),
    { title: 'RESTARTS', value: ({ restarts }) => restarts },
    { title: 'CREATED', value: ({ createdAt }) => ago(createdAt, now) },
    { title: 'REASON', value: reasonOf },
  ];
}

/** `CrashLoopBackOff, exit code 1`, or what Kubernetes says about a pod that could not start. */
function reasonOf({ reason, exitCode, message }: PodView): string | undefined {
  if (exitCode !== undefined) return `${reason}, exit code ${exitCode}`;
  return message ?? reason;
}
