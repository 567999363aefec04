import t from 'tap';
import { codeFile } from '../support/code-file.ts';
import { eventually, runningPlatform, testProject } from '../support/platform.ts';
import { redisProbe, s3Probe } from '../support/store-probes.ts';

const platform = await runningPlatform();

/** Stores 42 and reads it with only the variables of its bindings; the event may replace a variable's value. */
const code = `
import { spawnSync } from 'node:child_process';
const probes = ${JSON.stringify({ redis: redisProbe, s3: s3Probe })};
const ways = {
  redis: ({ REDIS_HOST, REDIS_PORT, REDIS_USERNAME, REDIS_PASSWORD }) =>
    ({ DB_HOST: REDIS_HOST, DB_PORT: REDIS_PORT, DB_USERNAME: REDIS_USERNAME, DB_PASSWORD: REDIS_PASSWORD }),
  s3: ({ S3_ENDPOINT, S3_ACCESS_KEY, S3_SECRET_KEY, S3_BUCKET, S3_REGION }) => {
    const { hostname, port } = new URL(S3_ENDPOINT);
    return { DB_HOST: hostname, DB_PORT: port, DB_ACCESSKEY: S3_ACCESS_KEY, DB_SECRETKEY: S3_SECRET_KEY,
      DB_BUCKET: S3_BUCKET, DB_REGION: S3_REGION };
  },
};
export function handler(event) {
  const brought = Object.entries(process.env).filter(([name]) => /^(REDIS|S3)_/.test(name));
  const { probe, ...others } = event ?? {};
  if (!probe) return { body: Object.fromEntries(brought) };
  const env = { ...process.env, ...ways[probe]({ ...Object.fromEntries(brought), ...others }) };
  const { stdout, stderr } = spawnSync(process.execPath, ['-e', probes[probe]], { env, encoding: 'utf8' });
  return { body: { said: (stdout + stderr).trim() } };
}`;

interface Bound {
  status: string;
  database?: string;
  variables: string[];
}

type Variables = Record<string, string>;

t.test('functions store and read in Redis and MinIO, each as its own user while it is bound', async (t) => {
  const { namespace, flags } = await testProject(t, platform);
  const services = ['redis', 'minio'] as const;
  for (const type of services) {
    const created = await platform.svc(['service', 'create', type, '--type', type, '--size', '256Mi', ...flags]);
    if (created.code === 0) continue;
    t.equal(platform.info.target, 'local', created.stderr);
    t.match(created.stderr, /service_not_installed/, 'reported, and tested on targets that have it');
    return;
  }
  const file = codeFile(t, 'keeper.mjs', code);
  const bind = (name: string, service: string, ...more: string[]) =>
    platform.json<Bound>(['function', 'bind', name, service, ...more, ...flags]);
  const functions = ['mine', 'theirs'] as const;
  for (const name of functions) {
    await platform.ok(['function', 'create', name, '--code-file', file, ...flags]);
    t.match(await bind(name, 'redis'), {
      status: 'ready',
      variables: ['REDIS_HOST', 'REDIS_PORT', 'REDIS_USERNAME', 'REDIS_PASSWORD', 'REDIS_URL'],
    });
    t.match(await bind(name, 'minio'), {
      status: 'ready',
      database: name,
      variables: ['S3_ENDPOINT', 'S3_ACCESS_KEY', 'S3_SECRET_KEY', 'S3_BUCKET', 'S3_REGION'],
    });
  }
  const ask = async (name: string, event: object = {}) => {
    const { url } = await platform.json<{ url: string }>(['function', 'show', name, ...flags]);
    const sent = { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(event) };
    const answer = await eventually(
      () => platform.request(url, sent),
      ({ status }) => status !== 404,
    );
    return answer.json() as Variables;
  };
  const messageOf = async (name: string, event: object) => (await ask(name, event))['said'] ?? '';

  const [own, foreign] = [await ask('mine'), await ask('theirs')];
  const at = `redis.${namespace}.svc`;
  t.match(own, {
    REDIS_HOST: at,
    REDIS_PORT: '6379',
    REDIS_USERNAME: /^mine_[0-9a-f]{12}$/,
    REDIS_URL: `redis://${own['REDIS_USERNAME']}:${own['REDIS_PASSWORD']}@${at}:6379`,
    S3_ENDPOINT: `http://minio.${namespace}.svc:9000`,
    S3_ACCESS_KEY: /^mine_[0-9a-f]{12}$/,
    S3_BUCKET: 'mine',
  });
  for (const name of ['REDIS_USERNAME', 'REDIS_PASSWORD', 'S3_ACCESS_KEY', 'S3_SECRET_KEY', 'S3_BUCKET']) {
    t.not(own[name], foreign[name], `${name} is its own`);
  }
  for (const name of functions) {
    t.equal(await messageOf(name, { probe: 'redis' }), '42', `${name} in Redis`);
    t.equal(await messageOf(name, { probe: 's3' }), '42', `${name} in its bucket`);
  }
  t.match(
    await messageOf('theirs', { probe: 's3', S3_BUCKET: 'mine' }),
    /403.*AccessDenied/s,
    'another function’s bucket',
  );
  const { REDIS_USERNAME } = own;
  t.match(await messageOf('theirs', { probe: 'redis', REDIS_USERNAME }), /WRONGPASS/, 'another function’s user');

  for (const service of services) await platform.ok(['function', 'unbind', 'mine', service, ...flags]);
  await eventually(
    () => messageOf('mine', { probe: 'redis', ...own }),
    (now) => now.startsWith('-WRONGPASS'),
  );
  await eventually(
    () => messageOf('mine', { probe: 's3', ...own }),
    (now) => /403.*InvalidAccessKeyId/s.test(now),
  );
  t.equal(await messageOf('theirs', { probe: 'redis' }), '42', 'other bindings stay');
  t.equal(await messageOf('theirs', { probe: 's3' }), '42');

  await bind('mine', 'minio', '--database', 'mine', '--restart');
  const newVariables = await eventually(
    () => ask('mine'),
    (now) => now['S3_SECRET_KEY'] !== undefined && now['S3_SECRET_KEY'] !== own['S3_SECRET_KEY'],
  );
  t.notHas(newVariables, 'REDIS_URL');
  t.equal(await messageOf('mine', { probe: 's3' }), '42', 'its bucket still has its data');
  await platform.ok(['function', 'unbind', 'mine', 'minio', '--drop-database', '--yes', ...flags]);
  t.match(await messageOf('theirs', { probe: 's3', S3_BUCKET: 'mine' }), /403|NoSuchBucket/);

  const show = await platform.json<object>(['function', 'show', 'theirs', ...flags]);
  const { stdout } = await platform.kubectl(
    '-n',
    namespace,
    'get',
    'functions.platform.svc,pods,deployments',
    '-o',
    'json',
  );
  for (const name of ['REDIS_PASSWORD', 'S3_SECRET_KEY']) {
    t.notMatch(JSON.stringify(show) + stdout, String(foreign[name]), `${name} is in no object`);
  }
});
