import { chmodSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import type { ServiceType } from '../../runtime/contracts/resources/service.ts';
import { serviceClients } from '../../cli/service-clients.ts';
import { createdAt, id, world } from './world.ts';

const password = 'p@ss "w\\rd/1';
const credentials: Readonly<Record<ServiceType, object>> = {
  postgres: { username: 'svc', password, database: 'svc' },
  mysql: { username: 'svc', password, database: 'svc' },
  mongodb: { username: 'svc', password, database: 'svc' },
  redis: { password },
  minio: { accessKey: 'svc', secretKey: password },
};

/** A world with an external service, and a folder of programs that print what they get. */
async function withService(test: Parameters<typeof world>[0] & { testdir(): string }, type: ServiceType) {
  const base = '/api/v1/projects/shop/services/orders';
  const address = { host: '127.0.0.1', port: 4444, tls: false };
  const view = { id, name: 'orders', project: 'shop', environment: 'prod', type, external: true, status: 'ready' };
  const { run } = await world(test, {
    [`GET ${base}`]: { body: { ...view, ...address, createdAt } },
    [`GET ${base}/credentials`]: { body: { name: 'orders', type, ...address, ...credentials[type] } },
  });
  const folder = test.testdir();
  const bin = join(folder, 'bin');
  const tmp = join(folder, 'tmp');
  for (const path of [bin, tmp]) mkdirSync(path);
  const program = (name: string, script: string) => {
    writeFileSync(join(bin, name), `#!/bin/sh\n${script}\n`);
    chmodSync(join(bin, name), 0o755);
  };
  const connect = (...words: string[]) =>
    run(['service', 'connect', 'orders', ...(words.length > 0 ? ['--', ...words] : [])], {
      env: { PATH: bin, TMPDIR: tmp },
    });
  return { program, connect, tmp };
}

const show =
  'printf "arg:%s\\n" "$@"; /usr/bin/env; for word in "$@"; do f=${word#*=}; [ -f "$f" ] && /bin/cat "$f"; done; exit 3';

for (const type of Object.keys(serviceClients) as ServiceType[]) {
  t.test(`the client of ${type} gets the credentials, and its arguments contain none`, async (t) => {
    const { program, connect, tmp } = await withService(t, type);
    for (const name of serviceClients[type].programs.slice(0, 1)) program(name, show);
    const { TMPDIR } = process.env;
    process.env['TMPDIR'] = tmp;
    t.teardown(() => {
      if (TMPDIR === undefined) delete process.env['TMPDIR'];
      else process.env['TMPDIR'] = TMPDIR;
    });
    const ran = await connect('-c', '$(id); x');
    t.equal(ran.code, 3, 'the exit code of the client');
    const lines = ran.stdout.split('\n');
    const passed = lines.filter((line) => line.startsWith('arg:'));
    t.ok(passed.includes('arg:$(id); x'), 'words are passed on unchanged');
    t.notMatch(passed.join('\n'), /p@ss|p%40ss/);
    t.match(lines.filter((line) => !line.startsWith('arg:')).join('\n'), /p@ss|p%40ss/);
    t.same(readdirSync(tmp), [], 'files with credentials are deleted');
  });
}

t.test('a client that is missing is explained', async (t) => {
  const { program, connect } = await withService(t, 'minio');
  const missing = await connect();
  t.equal(missing.code, 1);
  t.match(missing.stderr, /mc or mcli is not on your PATH. Install the MinIO client.*\(not_installed\)/);
  t.match(missing.stderr, /hint: or use another client; .*svc service credentials orders/);
  program('mc', 'echo "GNU Midnight Commander 4.8"');
  t.match((await connect()).stderr, /\(not_installed\)/, 'another program of the same name');
  program('mcli', 'echo "$@"');
  t.equal((await connect()).stdout, 'ls svc\n');
});
