import { execFileSync } from 'node:child_process';
import t, { type Test } from 'tap';
import { writeTools } from '../../../runtime/assistant/write-tools.ts';
import type { TokenScope } from '../../../runtime/domain/token-scopes.ts';
import { Problem } from '../../../runtime/domain/problem.ts';
import { testSession } from '../../support/api.ts';
import { writeCases as cases } from '../../support/write-cases.ts';
import { dataOf, testTools, tokenSession, toolCaller, type TestToolsOptions } from '../../support/tools.ts';

const writer = tokenSession({ scopes: ['write'] });
const named = { project: 'shop', environment: 'prod' };
const api = { ...named, app: 'api' };

/** The tools with a handler for every change, which records the request. */
async function world(options: TestToolsOptions = {}) {
  const sent: unknown[] = [];
  const handlers = Object.fromEntries(
    writeTools.flatMap(({ method, path, kinds = [''] }) =>
      kinds.map((kind) => [
        `${method} ${path.replaceAll('{kind}', kind)}`,
        async ({ params, query, body }: { params: unknown; query: unknown; body: unknown }) => {
          sent.push({ params, query, body });
          return { status: 202, body: { ok: true } };
        },
      ]),
    ),
  );
  const tools = await testTools({ ...options, handlers });
  return { tools, sent };
}

interface Prepared {
  sent: boolean;
  reason?: string;
  command: string;
  request: { method: string; path: string; body?: unknown };
}

t.test('without a confirmation, the result is the request and the command, and nothing is sent', async (t) => {
  const { tools, sent } = await world();
  t.same(
    [...new Set(cases.map(([name]) => name))],
    writeTools.map(({ name }) => name),
    'every tool has a case',
  );
  for (const [name, args, [method, path, body], command, input] of cases) {
    for (const confirmation of [{}, { confirm: false }, { confirm: 'true' }, { confirm: 1 }]) {
      const result = await tools.call(toolCaller(writer), name, { ...args, ...confirmation });
      t.notOk(result.isError, result.text);
      const prepared = dataOf(result.text) as Prepared;
      const query = 'environment' in args ? '?environment=prod' : '';
      t.same(prepared.request, { method, path: `/api/v1${path}${query}`, ...(body && { body }) }, name);
      const scope = `--project shop${'environment' in args ? ' --environment prod' : ''}`;
      if (input === undefined) t.equal(prepared.command, `${command} ${scope}`);
      else t.match(prepared.command, `${command} ${scope} <<'END`);
      t.match(prepared, { sent: false, reason: /confirm: true/ });
      t.match(result.audit, { sent: false });
    }
  }
  t.same(sent, []);
});

t.test('a shell gives the code of a command to it as it is', async (t) => {
  const { tools } = await world();
  const withInput = cases.filter(([, , , , input]) => input !== undefined);
  t.ok(withInput.length > 2);
  for (const [name, args, , , input = ''] of withInput) {
    const { prepared } = await tools.call(toolCaller(writer), name, args);
    const script = `svc() { cat; }\n${prepared?.command}\n`;
    t.equal(execFileSync('sh', ['-c', script], { encoding: 'utf8' }), input, name);
  }
});

t.test(
  'a function that the API would refuse is refused before it is prepared, and its name is in the audit entry',
  async (t) => {
    const { tools, sent } = await world();
    const good = { ...named, function: 'hello', runtime: 'node', code: 'export const handler = () => 1;' };
    const call = async (args: object) => tools.call(toolCaller(writer), 'create_function', { ...good, ...args });
    t.match(await call({}), { isError: false, audit: { tool: 'create_function', function: 'hello', sent: false } });
    const wrong: [object, RegExp][] = [
      [{ function: '--yes' }, /not a valid name/],
      [{ function: 'a_b' }, /not a valid name/],
      [{ runtime: 'cobol' }, /runtime/],
      [{ code: '' }, /code/],
      [{ code: 5 }, /code/],
      [{ code: 'x'.repeat(600_000) }, /code|body/],
      [{ dependencies: ['lodash'] }, /exact version/],
      [{ dependencies: ['--yes'] }, /not a package/],
      [{ trigger: 'cron' }, /needs the argument schedule/],
      [{ trigger: 'cron', schedule: 'every night' }, /schedule|field/],
      [{ trigger: 'cron', schedule: '0 2 * * *', timeZone: 'Mars/Base' }, /time zone/i],
      [{ schedule: '0 2 * * *' }, /needs the trigger cron/],
      [{ source: 'orders' }, /Events need one of the triggers/],
      [{ trigger: 'redis', source: 'cache' }, /needs --list/],
      [{ trigger: 'postgres', source: 'db', query: '-- x' }, /is not a value of --query/],
      [{ variables: { A: 1 } }, /each value must be a text/],
      [{ variables: { '--yes': '1' } }, /is not a value of --env/],
      [{ secrets: { A: 'x' } }, /no argument/],
    ];
    for (const [args, message] of wrong) {
      const { isError, text, prepared } = await call(args);
      t.ok(isError, JSON.stringify(args).slice(0, 100));
      t.equal(prepared, undefined);
      t.match(text, message);
    }
    const update = { ...named, function: 'hello' };
    t.match(await tools.call(toolCaller(writer), 'update_function_code', { ...update, code: '' }), { isError: true });
    t.match(await tools.call(toolCaller(writer), 'update_function_code', update), { isError: true });
    t.same(sent, []);
  },
);

t.test('the agent sees the variables that it has sent, and those of no reply', async (t) => {
  const { tools } = await world();
  const [, args = {}] = cases.find(([name]) => name === 'create_function') ?? [];
  t.match((await tools.call(toolCaller(writer), 'create_function', args)).text, '"env":{"LEVEL":"debug"');
  const hidden = await testTools({
    handlers: { 'POST /projects/:project/functions': async () => ({ status: 201, body: { env: { LEVEL: 'debug' } } }) },
  });
  const result = await hidden.call(toolCaller(writer), 'create_function', { ...args, confirm: true });
  t.match(dataOf(result.text), { sent: true, result: { env: { LEVEL: '[hidden]' } } });
});

t.test('with a confirmation, a token with the scope sends exactly this request', async (t) => {
  const { tools, sent } = await world();
  for (const [name, args, [, , body]] of cases) {
    const result = await tools.call(toolCaller(writer), name, { ...args, confirm: true });
    t.match(dataOf(result.text), { sent: true, status: 202, result: { ok: true } }, name);
    t.match(result.audit, { tool: name, project: 'shop', sent: true });
    if (body) t.match((sent.at(-1) as { body: unknown }).body, body);
  }
  t.equal(sent.length, cases.length);
});

t.test('a user without a token gets the command, also with a confirmation', async (t) => {
  const { tools, sent } = await world();
  for (const [name, args] of cases) {
    const result = await tools.call(toolCaller(testSession), name, { ...args, confirm: true });
    t.match(dataOf(result.text), { sent: false, reason: /Only an access token/, command: /^svc / });
  }
  t.same(sent, []);
});

async function refuses(t: Test, scopes: TokenScope[], names: string[]): Promise<void> {
  const { tools, sent } = await world();
  const session = tokenSession({ scopes });
  const listed = tools.list(session).map(({ name }) => name);
  t.same(
    writeTools.map(({ name }) => name).filter((name) => !listed.includes(name)),
    names,
  );
  t.same(sent, []);
}

t.test('the list has the writes that the scopes and the role allow', async (t) => {
  const writes = writeTools.map(({ name }) => name);
  const beyondDeploy = ['scale_app', 'set_variables', 'redrive_dead_letters', 'create_function'];
  await refuses(t, ['write'], []);
  await refuses(t, ['deploy'], beyondDeploy);
  await refuses(t, ['read', 'logs:read'], writes);
  const { tools } = await world();
  const viewer = tools.list(tokenSession({ scopes: ['write'], projectRole: 'viewer' })).map(({ name }) => name);
  t.same(
    viewer.filter((name) => writes.includes(name)),
    [],
  );
  const scale = await tools.call(toolCaller(tokenSession({ scopes: ['deploy'] })), 'scale_app', {
    ...api,
    replicas: 2,
  });
  t.match(dataOf(scale.text), { code: 'scope_missing' }, 'the route allows it, the tool does not');
});

t.test('what would be refused is refused before it is prepared', async (t) => {
  const { tools, sent } = await world({
    authorize: async () => {
      throw new Problem('forbidden', 'No.');
    },
  });
  for (const [name, args] of cases) {
    for (const confirm of [false, true]) {
      t.match(dataOf((await tools.call(toolCaller(writer), name, { ...args, confirm })).text), { code: 'forbidden' });
    }
  }
  const { tools: open } = await world();
  const wrong: [string, object, RegExp][] = [
    ['deploy_image', { ...api, image: 5 }, /image must be/],
    ['deploy_image', { ...api, image: 'x', replicas: 3 }, /no argument/],
    ['deploy_image', { ...api, app: '--yes', image: 'x' }, /is not a name/],
    ['scale_app', { ...api, replicas: 5_000 }, /replicas must be at most/],
    ['roll_back_app', { ...api, revision: 'x' }, /revision must be/],
    ['set_variables', { ...named, kind: 'app', name: 'api', variables: { A: null } }, /each value must be a text/],
    ['set_variables', { ...named, kind: 'app', name: 'api', variables: {} }, /at least one/],
    ['set_variables', { ...named, kind: 'app', name: 'api', variables: { '--restart': 'x' } }, /is not a name/],
    ['redrive_dead_letters', { ...named, function: 'f', ids: [] }, /forms|ids/],
  ];
  for (const [name, args, message] of wrong) {
    const result = await open.call(toolCaller(writer), name, { ...args, confirm: true });
    t.ok(result.isError, name);
    t.match(result.text, message);
  }
  t.same(sent, []);
});

t.test('nothing is sent when the secrets that the answer could contain are unknown', async (t) => {
  const { tools, sent } = await world({
    projectRedact: async () => {
      throw new Problem('unavailable', 'No.');
    },
  });
  const result = await tools.call(toolCaller(writer), 'run_job', { ...named, job: 'report', confirm: true });
  t.match(dataOf(result.text), { code: 'unavailable' });
  t.same(sent, []);
});
