import t from 'tap';
import { eventually, runningPlatform, testProject } from '../support/platform.ts';

const platform = await runningPlatform();

t.test(
  'an app is promoted to an environment that does not have it, with settings and a secret of its own',
  async (t) => {
    const { project, flags } = await testProject(t, platform);
    await platform.ok(['environment', 'create', 'live', '--project', project]);
    process.env['API_TOKEN'] = 'of-prod';
    const environment = ['--env', 'RESPONSE_HEADERS={"x-token":"${API_TOKEN}"}', '--secret', 'API_TOKEN'];
    const create = [
      'app',
      'create',
      'api',
      '--image',
      'localhost:5000/svc/hello:v1',
      '--memory',
      '64Mi',
      ...environment,
    ];
    await platform.ok([...create, ...flags]);
    await platform.ok(['app', 'secret', 'set', 'api', 'UNUSED', '--value-stdin', ...flags], 'x');

    const promote = ['app', 'promote', 'api', '--from', 'prod', '--to', 'live', '--project', project];
    const missing = await platform.svc(promote);
    t.match([missing.code, missing.stderr], [1, /promote api --from prod --to live --create/]);
    process.env['API_TOKEN'] = 'of-live';
    const promoted = await platform.svc([...promote, '--create', '--secret', 'API_TOKEN', '-o', 'json']);
    t.equal(promoted.code, 0, promoted.stderr);
    t.match(promoted.stderr, /not copied: the secret UNUSED; set it with: svc app secret set api UNUSED/);
    const { url, memory } = JSON.parse(promoted.stdout) as { url: string; memory: string };
    t.equal(memory, '64Mi');
    const answer = await eventually(
      () => platform.request(url),
      ({ status }) => status === 200,
    );
    t.equal(answer.headers['x-token'], 'of-live');
    const target = ['--project', project, '--environment', 'live'];
    t.match(await platform.json(['app', 'history', 'api', ...target]), [
      { revision: 1, trigger: 'promotion', status: 'succeeded', promotedFrom: { environment: 'prod', revision: 1 } },
    ]);
    t.match(await platform.json([...promote, '--create']), { revision: 2, status: 'succeeded' });
  },
);
