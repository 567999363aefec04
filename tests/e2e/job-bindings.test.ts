import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import t from 'tap';
import { eventually, runningPlatform, testProject } from '../support/platform.ts';

const platform = await runningPlatform();
/** Prints what its pod got. */
const program = 'console.log(JSON.stringify([process.env.DATABASE_URL, process.env.GREETING, process.env.REDIS_URL]))';

t.test(
  'a job is created with a database, a cache and secrets in one command, and its run waits for them',
  async (t) => {
    const { namespace, flags } = await testProject(t, platform);
    const service = ['service', 'create', '--no-wait', ...flags];
    await platform.ok([...service, 'orders', '--type', 'postgres', '--size', '256Mi']);
    await platform.ok([...service, 'cache', '--type', 'redis', '--size', '256Mi']);
    const file = join(t.testdir(), '.env');
    writeFileSync(file, 'NAME="of the file"\nPORT=80\n');
    process.env['API_TOKEN'] = 'of-this-shell';
    const environment = ['--env-file', file, '--env', 'GREETING=${NAME} ${API_TOKEN} ${DB_NAME} ${PORT}'];
    const words = ['node', '-e', program].flatMap((word) => ['--command', word]);
    const create = ['job', 'create', 'report', '--image', 'localhost:5000/svc/hello:v1', ...words, ...environment];
    await platform.ok([...create, '--bind', 'orders', '--bind', 'cache', '--secret', 'API_TOKEN', ...flags]);

    /** Runs the job, and reads what it printed. */
    const run = async () => {
      const { name } = await platform.json<{ name: string }>(['job', 'run', 'report', '--timeout', '4m', ...flags]);
      const logs = () => platform.ok(['job', 'logs', 'report', '--run', name, ...flags]);
      return JSON.parse(await eventually(logs, (text) => text !== '')) as [string, string, string];
    };
    const [database, greeting, cache] = await run();
    t.equal(greeting, 'of the file of-this-shell orders_report_prod 80');
    t.match(cache, /^redis:\/\/[^:]+:[^@]+@/);

    const selection = ['-n', namespace, 'get', 'pods', '-l', 'app=orders', '-o', 'jsonpath={.items[0].status.podIP}'];
    const { stdout: host } = await platform.kubectl(...selection);
    const ports = 'jsonpath={.items[0].spec.containers[0].ports[0].containerPort}';
    const { stdout: port } = await platform.kubectl(...selection.slice(0, -1), ports);
    /** The code with which the server refuses the credentials of a URL, or else the database's name. */
    const signIn = async (url: string) => {
      const { username: user, password, pathname } = new URL(url);
      const client = new pg.Client({ host, port: Number(port), user, password, database: pathname.slice(1) });
      // The platform ends the connections of a user that it deletes, also between the requests of this test.
      client.on('error', () => undefined);
      try {
        await client.connect();
        return (await client.query<{ name: string }>('SELECT current_database() AS name')).rows[0]?.name;
      } catch (error) {
        return (error as { code: string }).code;
      } finally {
        await client.end();
      }
    };
    t.equal(await signIn(database), 'orders_report_prod');

    await platform.ok(['job', 'bind', 'report', 'orders', ...flags]);
    t.equal(await signIn(database), '28P01', 'the old password');
    const [renewed] = await run();
    t.equal(await signIn(renewed), 'orders_report_prod', 'the next run has the new one');
    const inUse = await platform.svc(['service', 'delete', 'orders', '--yes', ...flags]);
    t.match([inUse.code, inUse.stderr], [1, /used by the job report.*in_use/s]);

    await platform.ok(['job', 'delete', 'report', '--yes', ...flags]);
    await eventually(
      () => signIn(renewed),
      (code) => code === '28P01',
    );
    const left = await platform.kubectl('-n', namespace, 'get', 'secrets', '-o', 'name');
    await eventually(
      () => platform.kubectl('-n', namespace, 'get', 'secrets', '-o', 'name'),
      ({ stdout }) => !stdout.includes('secret/job-report'),
    );
    t.match(left.stdout, /secret\//, 'those of the services stay');
  },
);
