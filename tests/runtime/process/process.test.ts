import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { Registry } from 'prom-client';
import t from 'tap';
import { createAdminServer } from '../../../runtime/process/admin-server.ts';
import { loadConsoleConfig, loadMigrateConfig, loadWorkersConfig } from '../../../runtime/process/config.ts';
import { createLogger } from '../../../runtime/process/log.ts';
import { createMetrics } from '../../../runtime/process/metrics.ts';

const host = join(import.meta.dirname, '../../../runtime/process');

/** Runs a program in `folder` that may use `runProcess`, `log` and `createFailpoints`. */
function program(folder: string, body: string) {
  const main = join(folder, 'main.mjs');
  writeFileSync(
    main,
    `import { runProcess } from '${host}/lifecycle.ts';
     import { createLogger } from '${host}/log.ts';
     import { createFailpoints } from '${host}/failpoint.ts';
     const log = createLogger('tested', { level: 'info' });
     // Work that would keep the process alive for ever.
     const hold = () => setInterval(() => undefined, 1000);
     ${body}`,
  );
  const child = spawn(process.execPath, [main], { stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = once(child, 'close') as Promise<[number | null, NodeJS.Signals | null]>;
  let output = '';
  const checks: (() => void)[] = [];
  child.stdout.on('data', (chunk: Buffer) => {
    output += chunk.toString();
    for (const check of checks) check();
  });
  return {
    child,
    output: () => output,
    ended,
    said: (text: string) =>
      new Promise<void>((resolve) => {
        const check = () => {
          if (output.includes(text)) resolve();
        };
        checks.push(check);
        check();
      }),
  };
}

t.test('on SIGTERM a process stops its parts in reverse order and exits 0', async (t) => {
  const run = program(
    t.testdir(),
    `await runProcess({ name: 'tested', log, async start(lifecycle) {
      hold();
      for (const name of ['database', 'server']) lifecycle.add({ name, async stop() {
        log.info({ running: lifecycle.running(), aborted: lifecycle.signal.aborted }, 'stopping ' + name);
      } });
    } });`,
  );
  await run.said('process started');
  run.child.kill('SIGTERM');
  t.same(await run.ended, [0, null]);
  t.match(
    run.output(),
    /"running":false,"aborted":true,"msg":"stopping server"[^]*stopping database[^]*process stopped/,
  );
});

t.test('a failed start stops the started parts and exits 1', async (t) => {
  const run = program(
    t.testdir(),
    `await runProcess({ name: 'tested', log, async start(lifecycle) {
      hold();
      lifecycle.add({ name: 'database', stop() { log.info('stopping database'); } });
      throw new Error('no such server');
    } });`,
  );
  t.same(await run.ended, [1, null]);
  t.match(run.output(), /process failed to start[^]*stopping database/);
});

t.test('an uncaught error ends the process with exit code 1', async (t) => {
  const run = program(
    t.testdir(),
    `await runProcess({ name: 'tested', log, async start() { hold(); void Promise.reject(new Error('lost')); } });`,
  );
  t.same(await run.ended, [1, null]);
  t.match(run.output(), 'unhandled rejection');
});

t.test('a one-shot process ends by itself', async (t) => {
  const run = program(
    t.testdir(),
    `await runProcess({ name: 'tested', log, async start(lifecycle) { hold(); lifecycle.end(); } });`,
  );
  t.same(await run.ended, [0, null]);
});

t.test('an armed failpoint kills the process once; without a folder there are none', async (t) => {
  const folder = t.testdir({ 'step.two': '' });
  const body = `
    createFailpoints(undefined)('step.two');
    const failpoint = createFailpoints('${folder}');
    // Written at once; the log's own writes may still be under way when the process dies.
    const { writeSync } = await import('node:fs');
    failpoint('step.one');
    writeSync(1, 'after one');
    failpoint('step.two');
    writeSync(1, 'after two');`;
  const first = program(folder, body);
  t.same(await first.ended, [null, 'SIGKILL']);
  t.match(first.output(), 'after one');
  t.notMatch(first.output(), 'after two');
  t.notOk(existsSync(join(folder, 'step.two')));
  const second = program(folder, body);
  t.same(await second.ended, [0, null]);
  t.match(second.output(), 'after two');
});

t.test('the admin server serves probes, metrics and pages', async (t) => {
  const registry = createMetrics();
  let ready = false;
  const server = createAdminServer({
    port: 0,
    host: '127.0.0.1',
    registry,
    ready: () => ready,
    pages: { '/report': () => ({ requests: 3 }) },
  });
  const url = `http://127.0.0.1:${await server.start()}`;
  t.teardown(() => server.stop());
  const status = async (path: string, method = 'GET') => (await fetch(url + path, { method })).status;
  t.equal(await status('/health'), 200);
  t.equal(await status('/ready'), 503);
  ready = true;
  t.equal(await status('/ready?x=1'), 200);
  t.match(await (await fetch(`${url}/metrics`)).text(), 'process_cpu_seconds_total');
  t.same(await (await fetch(`${url}/report`)).json(), { requests: 3 });
  t.equal(await status('/nothing'), 404);
  t.equal(await status('/constructor'), 404);
  t.equal(await status('/ready', 'POST'), 405);
});

t.test('a probe that throws counts as failed', async (t) => {
  const server = createAdminServer({
    port: 0,
    host: '127.0.0.1',
    registry: new Registry(),
    ready: () => Promise.reject(new Error('down')),
    live: () => {
      throw new Error('wedged');
    },
  });
  const url = `http://127.0.0.1:${await server.start()}`;
  t.teardown(() => server.stop());
  t.equal((await fetch(`${url}/ready`)).status, 503);
  t.equal((await fetch(`${url}/health`)).status, 503);
});

t.test('the environment has defaults, and empty variables count as unset', (t) => {
  const config = loadConsoleConfig({
    ENCRYPTION_KEYS_FILE: '/keys.json',
    BASE_URL: 'http://console.test:8080/',
    PORT: '',
    LOG_LEVEL: 'debug',
    KUBERNETES_SERVICE_HOST: '10.0.0.1',
  });
  t.match(config, {
    kubernetes: { account: { host: '10.0.0.1', port: '443', folder: '/var/run/secrets/kubernetes.io/serviceaccount' } },
    log: { level: 'debug' },
    http: { port: 8080 },
    admin: { port: 8081 },
    pod: { namespace: 'svc-system' },
    database: { url: 'postgresql://svc@svc-postgres.svc-system.svc:5432/svc' },
    baseUrl: 'http://console.test:8080',
    firstAdmin: { email: 'admin@svc.local' },
  });
  t.ok(Object.isFrozen(config) && Object.isFrozen(config.database));
  const keys = { ENCRYPTION_KEYS_FILE: '/keys.json' };
  t.match(loadWorkersConfig({ ...keys, REDIS_PASSWORD_FILE: '/r', KUBECONFIG: '/k' }).redis, { passwordFile: '/r' });
  t.throws(() => loadWorkersConfig(keys), /KUBECONFIG is not set, and this is not a pod/);
  t.match(loadMigrateConfig({ DATABASE_PASSWORD_FILE: '/d' }).database, { passwordFile: '/d' });
  t.end();
});

t.test('an invalid environment is refused with the variable’s name, never its value', (t) => {
  const error = t.throws(() =>
    loadConsoleConfig({
      PORT: 'hunter2',
      DATABASE_URL: 'mysql://u:hunter2@x/',
      ENCRYPTION_KEYS_FILE: 'hunter2',
      LOG_LEVEL: 'hunter2',
    }),
  ) as unknown as Error;
  for (const name of ['PORT', 'DATABASE_URL', 'ENCRYPTION_KEYS_FILE', 'LOG_LEVEL', 'BASE_URL: is required']) {
    t.match(error.message, name);
  }
  t.notMatch(error.message, 'hunter2');
  t.end();
});

t.test('the log redacts secret fields at any depth', (t) => {
  const stream = new PassThrough();
  const log = createLogger('tested', { level: 'info' }, stream);
  log.info(
    {
      password: 'hunter2',
      headers: { authorization: 'hunter2', 'x-svc-token': 'hunter2', 'x-api-key': 'hunter2' },
      request: { headers: { cookie: 'hunter2', 'x-hub-signature-256': 'hunter2' } },
      app: 'api',
    },
    'hello',
  );
  const line = String(stream.read());
  t.notMatch(line, 'hunter2');
  t.match(JSON.parse(line), { msg: 'hello', name: 'tested', level: 'info', app: 'api', time: /^\d{4}-.*Z$/ });
  t.end();
});
