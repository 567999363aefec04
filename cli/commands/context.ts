import { command, type Commands } from '../command.ts';
import { outputFlag, yesFlag } from '../common-flags.ts';
import type { Login } from '../configuration.ts';
import { contextList, type Context } from '../context.ts';
import { usageFailure } from '../failure.ts';
import { fields, table, type Output } from '../output.ts';
import { confirm } from '../prompt.ts';
import { suggestion } from '../suggest.ts';

const nameShape = /^[A-Za-z0-9][\w.@-]{0,99}$/;

/** @throws Failure (usage) for a name that completion and shells could not handle */
export function checkContextName(name: string): string {
  if (nameShape.test(name)) return name;
  throw usageFailure(`"${name}" is not a context name: use letters, digits, ".", "_", "@" and "-".`);
}

/** A context in the output, without the token. */
function viewOf(name: string, { api, email, project, environment, token }: Login, current: string | undefined) {
  return {
    name,
    current: name === current,
    ...(api !== undefined && { api }),
    ...(email !== undefined && { email }),
    signedIn: token !== undefined,
    ...(project !== undefined && { project }),
    ...(environment !== undefined && { environment }),
  };
}

type ContextView = ReturnType<typeof viewOf>;

function viewsOf({ configuration: { contexts }, contextName }: Context): ContextView[] {
  return Object.entries(contexts).map(([name, login]) => viewOf(name, login, contextName));
}

/** @throws Failure (usage) when the context does not exist */
function find(context: Context, name: string): ContextView {
  const views = viewsOf(context);
  const view = views.find((candidate) => candidate.name === name);
  if (view) return view;
  const names = views.map((candidate) => candidate.name);
  const close = suggestion(name, names);
  const list = contextList(names) + (names.length === 0 ? '; sign in: svc login --api <address>' : '');
  const hint = close === undefined ? list : `did you mean ${close}?`;
  throw usageFailure(`There is no context "${name}".`, hint);
}

function toOutput(view: ContextView): Output {
  return {
    data: view,
    table: fields([
      ['Context', view.name],
      ['Current', view.current ? 'yes' : 'no'],
      ['API', view.api],
      ['Signed in as', view.signedIn ? view.email : undefined],
      ['Project', view.project],
      ['Environment', view.environment],
    ]),
    names: [view.name],
  };
}

const list = command({
  name: 'list',
  description: 'List the saved logins. * marks the current one.',
  flags: outputFlag,
  examples: ['svc context list', 'svc context list -o name'],
  async run({ context, flags }) {
    const views = viewsOf(context);
    const rows = table(views, [
      { title: 'CONTEXT', value: ({ name, current }) => `${name}${current ? ' *' : ''}` },
      { title: 'API', value: ({ api }) => api },
      { title: 'SIGNED IN AS', value: ({ signedIn, email }) => (signedIn ? email : undefined) },
      { title: 'PROJECT', value: ({ project }) => project },
      { title: 'ENVIRONMENT', value: ({ environment }) => environment },
    ]);
    context.print({ data: views, table: rows, names: views.map(({ name }) => name) }, flags.output);
  },
});

const show = command({
  name: 'show',
  args: ['context?'],
  description: 'Show a saved login (default: the current one).',
  flags: outputFlag,
  examples: ['svc context show', 'svc context show staging -o json'],
  async run({ context, args, flags }) {
    const name = args.context ?? context.contextName;
    if (name === undefined) throw usageFailure('There is no current context.', 'sign in: svc login --api <address>');
    context.print(toOutput(find(context, name)), flags.output);
  },
});

const use = command({
  name: 'use',
  args: ['context'],
  description: 'Set the login that later commands use.',
  flags: {},
  examples: ['svc context use staging'],
  async run({ context, args }) {
    const { api = 'no address' } = find(context, args.context);
    context.configure((configuration) => ({ ...configuration, current: args.context }));
    context.say(`using context ${args.context} (${api})`);
    const variable = ['SVC_CONTEXT', 'SVC_API'].find((name) => context.env[name]);
    if (variable !== undefined) context.say(`the variable ${variable} is set and takes precedence`);
  },
});

const rename = command({
  name: 'rename',
  args: ['context', 'name'],
  description: 'Rename a saved login.',
  flags: {},
  examples: ['svc context rename apps.example.com prod'],
  async run({ context, args }) {
    find(context, args.context);
    checkContextName(args.name);
    const isTaken = viewsOf(context).some(({ name }) => name === args.name);
    if (isTaken) throw usageFailure(`There is a context "${args.name}" already.`);
    const newName = (name: string) => (name === args.context ? args.name : name);
    context.configure(({ current, contexts }) => ({
      ...(current !== undefined && { current: newName(current) }),
      contexts: Object.fromEntries(Object.entries(contexts).map(([name, login]) => [newName(name), login])),
    }));
    context.say(`context ${args.context} is now ${args.name}`);
  },
});

const remove = command({
  name: 'delete',
  args: ['...contexts'],
  description: 'Delete saved logins from this machine. To end a session, run svc logout first.',
  flags: yesFlag,
  examples: ['svc context delete staging', 'svc context delete staging old --yes'],
  async run({ context, args, flags }) {
    for (const name of args.contexts) find(context, name);
    const noun = args.contexts.length === 1 ? 'context' : 'contexts';
    await confirm(context, flags, `Delete ${noun} ${args.contexts.join(', ')}?`);
    context.configure(({ current, contexts }) => ({
      ...(current !== undefined && !args.contexts.includes(current) && { current }),
      contexts: Object.fromEntries(Object.entries(contexts).filter(([name]) => !args.contexts.includes(name))),
    }));
    for (const name of new Set(args.contexts)) context.say(`context ${name} is deleted`);
  },
});

export const contextCommands: Commands = { commands: [list, show, use, rename, remove] };
