import t from 'tap';
import { rootGroup } from '../../cli/commands/root.ts';
import { flagName } from '../../cli/flags.ts';
import { flatten, loadTree } from '../../cli/reference/tree.ts';
import { world, type Reply, type Routes } from './world.ts';
import { wrongInputs } from './wrong-input-lines.ts';

/*
 * What people type wrong. Each row is a command line with the whole error message and its hint: the command line refuses
 * the first ones before it sends anything, the API the others. Both exit with 2, so that scripts need not know who noticed.
 */

for (const [line, message, hint] of wrongInputs) {
  t.test(line, async (t) => {
    const { run, seen } = await world(t);
    const stderr = `error: ${message} (usage)\n${hint === undefined ? '' : `hint: ${hint}\n`}`;
    t.same(await run(wordsOf(line)), { code: 2, stdout: '', stderr });
    t.same(seen, [], 'nothing was sent');
  });
}

/** Every command of `svc`, with the words that call it. */
const commands = flatten(await loadTree(rootGroup)).flatMap((group) =>
  group.commands.map((command) => ({ command, words: [...group.path, command.name] })),
);

t.test('every command says which argument is missing or unexpected', async (t) => {
  const { run, seen } = await world(t);
  for (const { command, words } of commands) {
    const { args, forArgument } = command;
    const required = args.find((arg) => !arg.endsWith('?'));
    const variadic = args.some((arg) => arg.startsWith('...'));
    const typed = required !== undefined ? [] : variadic ? ['--bogus'] : [...args.map(() => 'x'), 'extra'];
    const line = [...words, ...typed].join(' ');
    const { code, stdout, stderr } = await run([...words.slice(1), ...typed]);
    const passed = command.wordsAreOptional ? `[-- <${command.words}>...]` : `-- <${command.words}>...`;
    const usage = [
      ...words,
      ...args.map((arg) => (arg.endsWith('?') ? `[${arg.slice(0, -1)}]` : `<${arg}>`)),
      ...(command.words === undefined ? [] : [passed]),
    ].join(' ');
    const [message, hint] =
      required !== undefined
        ? [`<${required}> is missing.`, `usage: ${usage}`]
        : variadic
          ? ['Unknown option --bogus.', 'see --help']
          : ['Unexpected argument "extra".', forArgument ? `did you mean ${forArgument('extra')}?` : `usage: ${usage}`];
    t.same(
      { code, stdout, stderr },
      { code: 2, stdout: '', stderr: `error: ${message} (usage)\nhint: ${hint}\n` },
      line,
    );
  }
  t.same(seen, [], 'nothing was sent');
  t.ok(commands.length > 240, `${commands.length} commands`);
});

t.test('every option that refuses a value has a line', (t) => {
  const refuses = (read: () => unknown) => {
    try {
      read();
      return false;
    } catch {
      return true;
    }
  };
  const names = commands.flatMap(({ command }) =>
    Object.entries(command.flags).flatMap(([key, flag]) => {
      const name = flagName(key);
      return flag.placeholder !== undefined && refuses(() => flag.read(['?'], name)) ? [name] : [];
    }),
  );
  const tried = new Set(wrongInputs.flatMap(([line]) => line.match(/--[a-z][a-z-]*/g) ?? []));
  t.same(
    [...new Set(names)].filter((name) => !tried.has(name)),
    [],
  );
  t.end();
});

/** Values that only the API can judge, and the request that carries them. */
const judgedByApi: readonly (readonly [line: string, request: string])[] = [
  ["svc app create api --image r/x:1 --env 'a b=1'", 'POST /projects/shop/apps'],
  ['svc app create api --image r/x:1 --health-path x', 'POST /projects/shop/apps'],
  ['svc app create api --image r/x:1 --memory lots', 'POST /projects/shop/apps'],
  ['svc app create api --image r/x:1 --cpu x', 'POST /projects/shop/apps'],
  ["svc app create '' --image r/x:1", 'POST /projects/shop/apps'],
  ['svc app create Api --image r/x:1', 'POST /projects/shop/apps'],
  ['svc app create api --git notaurl', 'POST /projects/shop/apps'],
  ['svc app create api --image r/x:1 --bind orders=stock', 'POST /projects/shop/apps'],
  ['svc app bind api orders --prefix stock', 'PUT /projects/shop/apps/api/bindings/orders'],
  ['svc token create CI --scope read', 'POST /projects/shop/tokens'],
  ['svc service create s --type postgres --size big', 'POST /projects/shop/services'],
  ['svc app host add api not_a_host', 'PATCH /projects/shop/apps/api/hosts'],
  ['svc app show a/b', 'GET /projects/shop/apps/a%2Fb'],
  ['svc key usage k --from x', 'GET /projects/shop/api-keys/k/usage'],
  ['svc key usage k --from 2026-13-01', 'GET /projects/shop/api-keys/k/usage'],
  ["svc function schedule 'x'", 'GET /schedules/next'],
  ['svc job create j --image r/x:1 --schedule x', 'POST /projects/shop/jobs'],
  ['svc volume create v --size big', 'POST /projects/shop/volumes'],
  ['svc user create x', 'POST /users'],
  ['svc notification create n --url x', 'POST /projects/shop/notifications'],
];

const refusals: readonly Reply[] = [
  { status: 400, body: { code: 'invalid_request', message: 'The request is not valid: it is wrong.' } },
  { status: 422, body: { code: 'invalid_value', message: '"x" is not a valid value.' } },
];

for (const [line, request] of judgedByApi) {
  t.test(line, async (t) => {
    for (const refusal of refusals) {
      const { run, seen } = await world(t, everyRoute(refusal));
      const { code, message } = refusal.body as { code: string; message: string };
      t.same(await run(wordsOf(line)), { code: 2, stdout: '', stderr: `error: ${message} (${code})\n` });
      t.equal(seen.map(({ method, path }) => `${method} ${path.replace('/api/v1', '')}`).at(-1), request);
    }
  });
}

t.test('what is no wrong input exits otherwise', async (t) => {
  for (const [status, code, exitCode] of [
    [404, 'not_found', 1],
    [409, 'already_exists', 1],
    [403, 'forbidden', 1],
    [401, 'unauthenticated', 4],
  ] as const) {
    const { run } = await world(t, everyRoute({ status, body: { code, message: 'No.' } }));
    t.equal((await run(['app', 'create', 'api', '--image', 'r/x:1'])).code, exitCode, code);
  }
});

function everyRoute(reply: Reply): Routes {
  return new Proxy<Routes>({}, { get: () => reply });
}

/** The words after `svc`; single quotes keep blanks. */
function wordsOf(line: string): string[] {
  const words = line.match(/'[^']*'|\S+/g) ?? [];
  return words.slice(1).map((word) => word.replace(/^'|'$/g, ''));
}
