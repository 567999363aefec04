import t from 'tap';
import { createdAt, world } from './world.ts';

const api = '/api/v1/projects/shop/apps/api';
const run = 'api-00c0ffee00';
const accepted = { id: run, status: 'pending', statusUrl: 'http://x/y' };
const log = (...marks: object[]) => ({ body: marks.map((mark) => `${JSON.stringify(mark)}\n`).join('') });
const line = { pod: 'p', time: '', line: 'migrated 3 tables' };

t.test('app run sends the command, prints its log, and ends with its outcome', async (t) => {
  const cli = await world(t, {
    [`POST ${api}/runs`]: { status: 202, body: accepted },
    [`GET ${api}/run-logs`]: log({ run }, line, { run, ended: 'succeeded' }),
  });
  const command = ['npm', 'run', 'migrate', '--', '--all', '-e'];
  t.match(await cli.run(['app', 'run', 'api', '-e', 'prod', '--', ...command]), {
    code: 0,
    stdout: 'migrated 3 tables\n',
  });
  t.match(cli.seen[0], { query: { environment: 'prod' }, body: { command } });
  t.match(cli.seen[1]?.query, { follow: 'true', run });

  cli.routes[`GET ${api}/run-logs`] = log({ run }, line, {
    run,
    ended: 'failed',
    message: 'The program exited with code 3.',
  });
  t.match(await cli.run(['app', 'run', 'api', '--', 'false']), {
    code: 1,
    stdout: 'migrated 3 tables\n',
    stderr:
      /Run api-00c0ffee00 failed: The program exited with code 3.*run_failed[^]*svc app logs api --run api-00c0ffee00/,
  });
  cli.routes[`GET ${api}/run-logs`] = log({ run }, { run, ended: 'removed' });
  t.match(await cli.run(['app', 'run', 'api', '--', 'false']), { code: 1, stderr: /was deleted before it ended/ });
});

t.test('app run --detach prints the name of the run', async (t) => {
  const cli = await world(t, { [`POST ${api}/runs`]: { status: 202, body: accepted } });
  t.match(await cli.run(['app', 'run', 'api', '-d', '-o', 'name', '--', 'ls']), { code: 0, stdout: `${run}\n` });
  t.match(await cli.run(['app', 'run', 'api', '-d', '--', 'ls']), { code: 0, stdout: `run ${run} is accepted\n` });
  t.equal(cli.seen.length, 2);
  t.match(await cli.run(['app', 'run', 'api']), { code: 2 }, 'a command is required');
  t.match(await cli.run(['app', 'run', 'api', '-o', 'yaml', '--', 'ls']), { code: 2 }, 'before anything runs');
  t.equal(cli.seen.length, 2);
});

t.test('app runs lists them, and app logs --run shows one', async (t) => {
  const entry = {
    name: run,
    trigger: 'manual',
    status: 'failed',
    actor: 'ada@svc.test',
    createdAt,
    message: 'It exited.',
  };
  const cli = await world(t, {
    [`GET ${api}/runs`]: { body: { items: [{ ...entry, command: ['ls'] }] } },
    [`GET ${api}/run-logs`]: { body: { run, pods: [{ name: 'p', log: 'done\n' }] } },
  });
  t.match(await cli.run(['app', 'runs', 'api']), {
    code: 0,
    stdout: /api-00c0ffee00 +failed +manual \(ada@svc.test\).* ls +It exited\./,
  });
  t.match(await cli.run(['app', 'logs', 'api', '--run', run]), { code: 0, stdout: 'done\n' });
  t.match(cli.seen.at(-1)?.query, { run });
  t.match(await cli.run(['app', 'logs', 'api', '--run', run, '--since', '5m']), { code: 2 });
});

t.test('app stop-run stops runs that exist', async (t) => {
  const view = { name: run, trigger: 'manual', status: 'running', createdAt, command: ['sh'] };
  const cli = await world(t, {
    [`GET ${api}/runs/${run}`]: { body: view },
    [`DELETE ${api}/runs/${run}`]: { status: 202, body: view },
  });
  t.match(await cli.run(['app', 'stop-run', 'api', run, 'api-9999999999', '--yes']), { code: 1 });
  t.notOk(
    cli.seen.some(({ method }) => method === 'DELETE'),
    'a wrong name stops nothing',
  );
  t.match(await cli.run(['app', 'stop-run', 'api', run, '-e', 'prod', '--yes']), {
    code: 0,
    stderr: `run ${run} is being stopped\n`,
  });
  t.match(cli.seen.at(-1), { method: 'DELETE', query: { environment: 'prod' } });
});
