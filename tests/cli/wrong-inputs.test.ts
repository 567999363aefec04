import t from 'tap';
import { world, type Reply, type Routes } from './world.ts';

/*
 * What people type wrong. Each row is a command line with the whole error message and its hint: the command line refuses
 * the first ones before it sends anything, the API the others. Both exit with 2, so that scripts need not know who noticed.
 */

const usage: readonly (readonly [line: string, message: string, hint?: string])[] = [
  ['svc quux', 'Unknown command "svc quux".', 'see svc --help'],
  ['svc --project shop app list', 'Options go after the command: svc <command> --project'],
  ['svc app bogus', 'Unknown command "svc app bogus".', 'did you mean svc app logs?'],
  ['svc app creat api', 'Unknown command "svc app creat".', 'did you mean svc app create?'],
  ['svc app create', '<app> is missing.', 'usage: svc app create <app>'],
  ['svc app create api', 'Use either --image <image> or --git <url>.'],
  ['svc app create api --image', '--image needs a value: --image <image>'],
  ['svc app create api --image r/x:1 --port', '--port needs a value: --port <port>'],
  ['svc app create api --image r/x:1 --port x', '--port must be a whole number from 1 to 65535, not "x".'],
  ['svc app create api --image r/x:1 --port 0', '--port must be a whole number from 1 to 65535, not "0".'],
  ['svc app create api --image r/x:1 --port 70000', '--port must be a whole number from 1 to 65535, not "70000".'],
  ['svc app create api --image r/x:1 --replicas -1', '--replicas must be a whole number from 0 to 50, not "-1".'],
  ['svc app create api --image r/x:1 --replicas 1.5', '--replicas must be a whole number from 0 to 50, not "1.5".'],
  ['svc app create api --image r/x:1 --env FOO', '--env takes NAME=value, not "FOO".'],
  ['svc app create api --image r/x:1 --env =x', '--env takes NAME=value, not "=x".'],
  ['svc app create api --image r/x:1 --volume data', '--volume takes name:/path, not "data".'],
  ['svc app create api --image r/x:1 --volume data:relative', '--volume takes name:/path, not "data:relative".'],
  ["svc app create api --image ''", '--image needs a value, but the value is empty.'],
  ['svc app create api web --image r/x:1', 'Unexpected argument "web".', 'usage: svc app create <app>'],
  ['svc app create api --image r/x:1 --timeout x', '--timeout must be a duration, such as 90s, 5m or 1h, not "x".'],
  ['svc app create api --image r/x:1 --env-file /nowhere', 'Cannot read /nowhere: no such file or directory.'],
  ['svc app create api --image r/x:1 --bogus', 'Unknown option --bogus.', 'see --help'],
  ['svc app create api --image r/x:1 --imge x', 'Unknown option --imge.', 'did you mean --image?'],
  ['svc app create api --image r/x:1 -o xml', '--output must be one of table, json, yaml, name, not "xml".'],
  ['svc app create api --image r/x:1 --secret', '--secret needs a value: --secret <NAME>'],
  [
    "svc app create api --image r/x:1 --secret 'a b'",
    'Cannot prompt without a terminal: Value of a b',
    'set the variable a b in this shell',
  ],
  ['svc app create api --image r/x:1 --bind', '--bind needs a value: --bind <service[=PREFIX_]>'],
  ['svc app create api --image r/x:1 --git https://x/y.git', 'Use either --image <image> or --git <url>.'],
  ['svc app update api', 'Nothing to change. See svc app update --help.'],
  ['svc app update', '<app> is missing.', 'usage: svc app update <app>'],
  ['svc app update api --image', '--image needs a value: --image <image>'],
  ['svc app update api --env A=1', 'Unknown option --env.', 'did you mean svc app env set?'],
  ['svc app update api --replicas many', '--replicas must be a whole number from 0 to 50, not "many".'],
  ['svc app show', '<app> is missing.', 'usage: svc app show <app>'],
  ['svc app show a b', 'Unexpected argument "b".', 'usage: svc app show <app>'],
  ['svc app show .', '"." is not a name.', 'show the names with the list command'],
  ['svc app show ..', '".." is not a name.', 'show the names with the list command'],
  ['svc app delete', '<...apps> is missing.', 'usage: svc app delete <...apps>'],
  ['svc app list --limit 5', 'Unknown option --limit.', 'see --help'],
  ['svc app logs', '<app> is missing.', 'usage: svc app logs <app>'],
  [
    'svc app logs api --since yesterday',
    '--since must be a duration of up to 365d, such as 90s, 5m or 1h, not "yesterday".',
  ],
  ['svc app logs api --since 0', '--since must be a duration of up to 365d, such as 90s, 5m or 1h, not "0".'],
  ['svc app logs api --tail 0', '--tail must be a whole number from 1 to 10000, not "0".'],
  ['svc app logs api --tail x', '--tail must be a whole number from 1 to 10000, not "x".'],
  ['svc app logs api -f --previous', 'Use either -f or --previous; terminated containers write no new lines.'],
  ['svc app logs api -f -o yaml', '-f does not support -o yaml; use -o json for one object per line.'],
  ['svc app rollback api --revision x', '--revision must be a whole number from 1 to 2147483647, not "x".'],
  ['svc app rollback api --revision 0', '--revision must be a whole number from 1 to 2147483647, not "0".'],
  ['svc app rollback api --revision -1', '--revision must be a whole number from 1 to 2147483647, not "-1".'],
  ['svc app env set api', '<...variables> is missing.', 'usage: svc app env set <app> <...variables>'],
  ['svc app env set api FOO', 'svc app env set takes NAME=value, not "FOO".'],
  ['svc app env set api =x', 'svc app env set takes NAME=value, not "=x".'],
  ['svc app env delete api', '<...names> is missing.', 'usage: svc app env delete <app> <...names>'],
  ['svc app secret set api', '<name> is missing.', 'usage: svc app secret set <app> <name>'],
  ['svc app secret set api KEY --value x', 'Unknown option --value.', 'did you mean --value-stdin?'],
  ['svc app git set api', '--url <url> is required.'],
  ["svc app git set api --url ''", '--url needs a value, but the value is empty.'],
  [
    'svc app git set api --url https://x/y.git --token t --deploy-key k',
    'Unknown option --token.',
    'did you mean --token-file?',
  ],
  ['svc app webhook set api', 'Use --branch, --tags or --secret-url.'],
  ['svc app webhook enable api --grace x', '--grace must be a duration of up to 30d, such as 90s, 5m or 1h, not "x".'],
  ['svc app webhook set api --secret-url maybe', '--secret-url must be one of on, off, not "maybe".'],
  ['svc app host add api', '<...hosts> is missing.', 'usage: svc app host add <app> <...hosts>'],
  ['svc app gate status', '<app> is missing.', 'usage: svc app gate status <app>'],
  ['svc app promote api', '--from <environment> is required.'],
  ['svc app promote api --from dev', '--to <environment> is required.'],
  ['svc key create', '--plan <plan> is required.'],
  [
    'svc key create --plan p --expires yesterday',
    '--expires takes a date, an RFC 3339 time or a duration such as 30d, not "yesterday".',
  ],
  ['svc key create ci --plan p --expires 2020-01-01T00:00:00Z', 'Unexpected argument "ci".', 'usage: svc key create'],
  ['svc plan create p', '--rate <n> is required.'],
  ['svc plan create p --rate x', '--rate must be a number from 0.001 to 1000000, not "x".'],
  ['svc plan create p --rate 0', '--rate must be a number from 0.001 to 1000000, not "0".'],
  ['svc plan create p --rate 1 --quota 5', '--burst <n> is required.'],
  ['svc plan create p --rate 1 --quota 5/year', '--burst <n> is required.'],
  ['svc function create', '<function> is missing.', 'usage: svc function create <function>'],
  ['svc function create f', 'Use --code-file <file> for code, or --image <image> for a container image.'],
  ['svc function create f --code-file /nowhere.js', 'Cannot read /nowhere.js: no such file or directory.'],
  ['svc function create f --image x --code-file /nowhere.js', '--code-file cannot be combined with --image.'],
  [
    'svc function create f --trigger bogus --image r/x:1',
    '--trigger must be one of http, cron, postgres, mysql, redis, minio, not "bogus".',
  ],
  [
    'svc function create f --image r/x:1 --trigger cron',
    '--trigger cron requires --schedule <cron>, such as --schedule "*/5 * * * *".',
  ],
  ["svc function create f --image r/x:1 --schedule '* * *'", '--schedule requires --trigger cron.'],
  ['svc function create f --image r/x:1 --dependency left-pad', '--dependency cannot be combined with --image.'],
  ['svc function create f --image r/x:1 --runtime ruby', '--runtime must be one of node, python, not "ruby".'],
  [
    'svc function create f --image r/x:1 --trigger postgres',
    '--trigger postgres needs --source <service>: the postgres service that events come from.',
  ],
  ['svc function create f --image r/x:1 --min 5 --max 2', 'Unknown option --min.', 'did you mean --min-replicas?'],
  ['svc function invoke f --header x', '--header takes "<name>: <value>", not "x".'],
  ["svc function invoke f --method 'BAD METHOD'", '--method takes an HTTP method such as PUT, not "BAD METHOD".'],
  ['svc function invoke f --data @/nowhere', 'Cannot read /nowhere: no such file or directory.'],
  ['svc function bind f', '<service> is missing.', 'usage: svc function bind <function> <service>'],
  ['svc job create', '<job> is missing.', 'usage: svc job create <job>'],
  ['svc job create j', '--image <image> is required.'],
  ["svc job create j --image r/x:1 --command ''", '--command needs a value, but the value is empty.'],
  ["svc app update api --release-command ' '", '--release-command needs a value, but the value is empty.'],
  ['svc job logs', '<job> is missing.', 'usage: svc job logs <job>'],
  ['svc job delete', '<...jobs> is missing.', 'usage: svc job delete <...jobs>'],
  ['svc volume create v', '--size <quantity> is required.'],
  ['svc volume resize v', '--size <quantity> is required.'],
  ['svc service create s', '--type <postgres|mysql|mongodb|redis|minio> is required.'],
  ['svc service create s --type oracle', '--type must be one of postgres, mysql, mongodb, redis, minio, not "oracle".'],
  ['svc service create s --type postgres --storage x', 'Unknown option --storage.', 'did you mean --storage-class?'],
  ['svc project create', '<project> is missing.', 'usage: svc project create <project>'],
  ['svc project use', '<project> is missing.', 'usage: svc project use <project>'],
  ['svc project delete', '<...projects> is missing.', 'usage: svc project delete <...projects>'],
  ['svc environment create', '<environment> is missing.', 'usage: svc environment create <environment>'],
  ['svc user create', '<email> is missing.', 'usage: svc user create <email>'],
  ['svc user password --bogus', 'Unknown option --bogus.', 'see --help'],
  ['svc notification create n', '--url <address> is required.'],
  [
    'svc notification create n --url https://x --event never',
    '--event must be one of succeeded, failed, superseded, cancelled, not "never".',
  ],
  ['svc platform config set', 'Nothing to change.', 'set a setting; see svc platform config set --help'],
  ['svc platform config set --pods many', '--pods takes a whole number or "default", not "many".'],
  [
    'svc platform config set --profile huge',
    '--profile must be one of nano, small, medium, large, xlarge, default, not "huge".',
  ],
  ['svc platform config set --trusted-proxy 1.2.3.4 --no-trusted-proxies', 'You cannot set and clear the same list.'],
  ['svc platform config set --host-domain a=b=c', '--host-domain takes <domain>=<project>,…, not "a=b=c".'],
  [
    'svc platform config set --build-timeout 1s',
    '--build-timeout must be a duration from 10s to 1d, such as 90s, 5m or 1h, not "1s".',
  ],
  ['svc platform config set --ca-file /nowhere', 'Cannot read /nowhere: no such file or directory.'],
  ['svc install', '--apps-domain <domain> is required.'],
  ['svc install --apps-domain x', '--cluster <name> is required.'],
  [
    'svc install --apps-domain x --cluster c --build-timeout 1s',
    '--build-timeout must be a duration from 10s to 1d, such as 90s, 5m or 1h, not "1s".',
  ],
  ['svc image build', '<folder> is missing.', 'usage: svc image build <folder>'],
  ['svc image build /nowhere', '--tag <name:tag> is required, once.'],
  ['svc image build . -t', '-t needs a value: -t <name:tag>'],
  ['svc up --port x', '--port must be a whole number from 1 to 65535, not "x".'],
  ['svc up --port 0', '--port must be a whole number from 1 to 65535, not "0".'],
  ['svc down extra', 'Unexpected argument "extra".', 'usage: svc down'],
  ['svc login extra', 'Unexpected argument "extra".', 'usage: svc login'],
  ["svc login --api ''", '--api needs a value, but the value is empty.'],
  [
    "svc login --api 'ht tp'",
    '"ht tp" is not a valid management API address, such as https://console.apps.example.com.',
  ],
  ['svc status -o table -o', '-o needs a value: -o <table|json|yaml|name>'],
  ['svc deployment show', '<deployment> is missing.', 'usage: svc deployment show <deployment>'],
  [
    'svc deployment list --status bogus',
    '--status must be one of accepted, building, rolling_out, succeeded, failed, superseded, cancelled, skipped, not "bogus".',
  ],
  ['svc deployment list --limit 0', '--limit must be a whole number from 1 to 500, not "0".'],
  ['svc deployment list --limit 501', '--limit must be a whole number from 1 to 500, not "501".'],
  ['svc deployment cancel', '<deployment> is missing.', 'usage: svc deployment cancel <deployment>'],
];

for (const [line, message, hint] of usage) {
  t.test(line, async (t) => {
    const { run, seen } = await world(t);
    const stderr = `error: ${message} (usage)\n${hint === undefined ? '' : `hint: ${hint}\n`}`;
    t.same(await run(wordsOf(line)), { code: 2, stdout: '', stderr });
    t.same(seen, [], 'nothing was sent');
  });
}

/** Values that only the API can judge, and the request that carries them. */
const judgedByApi: readonly (readonly [line: string, request: string])[] = [
  ["svc app create api --image r/x:1 --env 'a b=1'", 'POST /projects/shop/apps'],
  ['svc app create api --image r/x:1 --health-path x', 'POST /projects/shop/apps'],
  ['svc app create api --image r/x:1 --memory lots', 'POST /projects/shop/apps'],
  ['svc app create api --image r/x:1 --cpu x', 'POST /projects/shop/apps'],
  ["svc app create '' --image r/x:1", 'POST /projects/shop/apps'],
  ['svc app create Api --image r/x:1', 'POST /projects/shop/apps'],
  ['svc app create api --git notaurl', 'POST /projects/shop/apps'],
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
