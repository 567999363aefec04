import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { runningPlatform, testProject } from '../support/platform.ts';

const platform = await runningPlatform();
const hello = (version: string) => `localhost:5000/svc/hello:${version}`;

interface Diff {
  environments: { objects: { kind: string; name: string; action?: string; changes?: { setting: string }[] }[] }[];
}

/** The changes of a plan, such as `update apps/api replicas`. */
function summary({ environments }: Diff): string[] {
  return environments.flatMap(({ objects }) =>
    objects.map(({ kind, name, action, changes = [] }) =>
      [action, `${kind}/${name}`, ...changes.map(({ setting }) => setting)].join(' '),
    ),
  );
}

t.test('a project file creates, changes and prunes what it describes, and nothing else', async (t) => {
  const { project, flags } = await testProject(t, platform);
  const folder = t.testdir({
    'greet.mjs': 'export const handler = () => ({ statusCode: 200, body: process.env.GREETING });\n',
    secrets: 'API_TOKEN=of-a-file\n',
  });
  const file = join(folder, 'svc.yaml');
  const write = (text: string) => writeFileSync(file, `project: ${project}\n${text}`);
  const common = ['--file', file];
  const diff = async (...more: string[]) => summary(await platform.json<Diff>(['diff', ...common, ...more]));

  write(`
services:
  cache: { type: redis }
volumes:
  files: { size: 64Mi }
plans:
  small: { requestsPerSecond: 5, burst: 10 }
functions:
  greet:
    codeFile: greet.mjs
    env: { GREETING: hi }
jobs:
  report: { image: ${hello('v1')}, retries: 2 }
apps:
  api:
    image: ${hello('v1')}
    memory: 128Mi
    env: { RESPONSE_HEADERS: '{"x-token":"\${API_TOKEN}"}', LEVEL: debug }
    secrets: [API_TOKEN]
    bindings: [cache]
`);
  t.same(await diff(), [
    'create services/cache',
    'create volumes/files',
    'create plans/small',
    'create functions/greet',
    'create jobs/report',
    'create apps/api',
  ]);
  const refused = await platform.svc(['apply', ...common]);
  t.match([refused.code, refused.stderr], [2, /Value of the secret API_TOKEN/], 'a secret without a value is refused');
  t.same((await diff()).length, 6, 'nothing was created');
  await platform.ok(['apply', ...common, '--secrets-file', join(folder, 'secrets')]);
  t.same(await diff(), [], 'a second apply changes nothing');
  const { url } = await platform.json<{ url: string }>(['app', 'show', 'api', ...flags]);
  t.match((await platform.request(url)).headers, { 'x-token': 'of-a-file' });

  await platform.ok(['app', 'env', 'set', 'api', 'OTHERS=kept', ...flags]);
  await platform.ok(['app', 'update', 'api', '--replicas', '2', ...flags]);
  write(`
plans:
  small: { requestsPerSecond: 5, burst: 20 }
functions:
  greet:
    codeFile: greet.mjs
    env: { GREETING: hello }
apps:
  api:
    image: ${hello('v2')}
    env: { RESPONSE_HEADERS: '{"x-token":"\${API_TOKEN}"}' }
    secrets: [API_TOKEN]
    bindings: [cache]
services:
  cache: { type: redis }
`);
  t.same(
    await diff('--prune'),
    [
      'update plans/small burst',
      'update functions/greet env.GREETING',
      'update apps/api image env.LEVEL memory',
      'delete jobs/report',
      'forget volumes/files',
    ],
    'replicas and a variable that others set stay, and data is kept',
  );
  await platform.ok(['apply', ...common, '--prune', '--yes']);
  t.same(await diff('--prune'), ['forget volumes/files']);
  t.match(await platform.json(['app', 'show', 'api', ...flags]), {
    image: hello('v2'),
    replicas: 2,
    env: { OTHERS: 'kept' },
    memory: undefined,
  });
  t.match(await platform.svc(['job', 'show', 'report', ...flags]), { code: 1, stderr: /not_found/ });

  const exported = join(folder, 'exported.yaml');
  writeFileSync(exported, await platform.ok(['export', ...flags]));
  writeFileSync(
    join(folder, 'greet.js'),
    'export const handler = () => ({ statusCode: 200, body: process.env.GREETING });\n',
  );
  t.same(summary(await platform.json<Diff>(['diff', '--file', exported])), [], 'an export describes what is there');

  write('services:\n  cache: { type: postgres }\n');
  const impossible = await platform.svc(['apply', ...common]);
  t.match([impossible.code, impossible.stderr], [1, /services\.cache\.type cannot be changed.*\(cannot_change\)/s]);
});
