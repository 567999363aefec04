import t from 'tap';
import { appCreate } from '../../../runtime/contracts/api/apps.ts';
import { createBody, createWords, newApp, type AppDraft } from '../../../functions/console/ui/apps/draft.ts';

const none = { credential: '', values: new Map<number, string>() };

t.test('a new app has what the form has, and no empty texts', (t) => {
  const plain = createBody({ ...newApp, name: 'api', image: ' registry.example.com/api:1 ' }, none);
  t.same(plain, { name: 'api', image: 'registry.example.com/api:1', port: 8080, replicas: 1 });
  const draft: AppDraft = {
    ...newApp,
    name: 'api',
    image: 'api:1',
    port: '80',
    replicas: '0',
    healthPath: '/ready',
    memory: '192Mi',
    cpu: '500m',
    hostname: 'api.example.com',
    volumes: 'data:/data\n\n  tmp:/tmp/a:b',
    url: 'ignored',
    autoRollback: false,
    variables: '# pasted\nexport LEVEL="a b"\nURL=${DB_URL}',
    bindings: ['orders', 'cache'],
    secrets: [
      { id: 1, name: 'TOKEN ' },
      { id: 4, name: '' },
      { id: 7, name: 'KEY' },
    ],
  };
  const values = new Map([
    [1, ' one '],
    [4, 'of no name'],
    [7, 'two'],
  ]);
  const body = createBody(draft, { credential: 'ignored', values });
  t.same(body, {
    name: 'api',
    image: 'api:1',
    port: 80,
    replicas: 0,
    healthPath: '/ready',
    memory: '192Mi',
    cpu: '500m',
    hostname: 'api.example.com',
    autoRollback: false,
    volumes: [
      { name: 'data', path: '/data' },
      { name: 'tmp', path: '/tmp/a:b' },
    ],
    env: { LEVEL: 'a b', URL: '${DB_URL}' },
    secrets: { TOKEN: ' one ', KEY: 'two' },
    bindings: [{ service: 'orders' }, { service: 'cache' }],
  });
  for (const each of [plain, body]) t.ok(appCreate.safeParse(each).success, 'the API accepts its form');
  t.end();
});

t.test('an app from git has a repository with credentials, and no image', (t) => {
  const git: AppDraft = { ...newApp, name: 'api', source: 'git', image: 'x', url: 'https://git.example.com/a.git' };
  const bodies = [
    createBody(git, { ...none, credential: 'of no use' }),
    createBody({ ...git, branch: 'main', credentials: 'token' }, { ...none, credential: ' secret\n' }),
    createBody({ ...git, path: 'api', credentials: 'deployKey' }, { ...none, credential: 'key\n' }),
  ];
  t.same(
    bodies.map((body) => body['git']),
    [
      { url: 'https://git.example.com/a.git' },
      { url: 'https://git.example.com/a.git', branch: 'main', credentials: { token: 'secret' } },
      { url: 'https://git.example.com/a.git', path: 'api', credentials: { deployKey: 'key\n' } },
    ],
  );
  for (const body of bodies) {
    t.notHas(body, 'image');
    t.ok(appCreate.safeParse(body).success, 'the API accepts its form');
  }
  t.end();
});

t.test('the command does the same, and has no secret', (t) => {
  t.same(createWords(newApp), ['app', 'create', 'api', '--image', 'registry.example.com/shop/api:1.0']);
  const draft: AppDraft = {
    ...newApp,
    name: 'api',
    source: 'git',
    url: 'https://ada:hunter2@git.example.com/a.git',
    credentials: 'token',
    replicas: '2',
    memory: '192Mi',
    volumes: 'data:/data',
    variables: 'PASSWORD=hunter2',
    bindings: ['orders'],
    autoRollback: false,
    secrets: [{ id: 1, name: 'TOKEN=hunter2' }],
  };
  t.same(createWords(draft), [
    ...['app', 'create', 'api', '--git', 'https://git.example.com/a.git', '--ask-token', '--replicas', '2'],
    ...['--memory', '192Mi', '--auto-rollback', 'off', '--volume', 'data:/data', '--env-file', '.env'],
    ...['--secret', 'TOKEN', '--bind', 'orders'],
  ]);
  const ssh = createWords({ ...draft, url: 'ssh://git:hunter2@git.example.com/a.git', credentials: 'deployKey' });
  t.same(ssh.slice(3, 7), ['--git', 'ssh://git@git.example.com/a.git', '--deploy-key-file', 'key']);
  t.equal(createWords({ ...draft, url: 'git@git.example.com:a.git' })[4], 'git@git.example.com:a.git');
  t.end();
});
