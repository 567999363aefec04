import t from 'tap';
import type { PromotionCreated } from '../../../runtime/contracts/api/apps.ts';
import { promotionWords, setUpOf } from '../../../functions/console/ui/apps/promotion.ts';

const direction = { app: 'api', from: 'dev', to: 'prod' };

t.test('the command of a promotion names the secrets of a new app that have a value', (t) => {
  const words = ['app', 'promote', 'api', '--from', 'dev', '--to', 'prod'];
  t.same(promotionWords({ ...direction, create: false, secrets: ['TOKEN'] }), words);
  t.same(promotionWords({ ...direction, create: true, secrets: [] }), [...words, '--create']);
  t.same(promotionWords({ ...direction, create: true, secrets: ['TOKEN'] }), [
    ...[...words, '--create', '--secret', 'TOKEN'],
  ]);
  t.end();
});

t.test('a new app is set up with commands that keep what it has', (t) => {
  const app: PromotionCreated['app'] = {
    id: '8a3d1d9e-6d58-4c62-9b54-2f1f4ac1a0de',
    name: 'api',
    project: 'shop',
    environment: 'prod',
    image: 'api:1',
    port: 8080,
    replicas: 1,
    readyReplicas: 0,
    status: 'pending',
    autoRollback: true,
    volumes: [{ name: 'cache', path: '/cache' }],
    extraHosts: [],
    security: {} as PromotionCreated['app']['security'],
    env: {},
    gate: 'gated',
    createdAt: '2026-01-01T00:00:00Z',
  };
  const none = { secrets: [], hosts: [], volumes: [] };
  const commandsOf = (created: PromotionCreated) =>
    setUpOf({ project: 'shop', environment: 'prod' }, created).map(({ command }) =>
      command?.replace(' --project shop --environment prod', ''),
    );
  t.same(commandsOf({ app: { ...app, gate: 'off' }, notCopied: none }), []);
  const volumes = [
    { name: 'data', path: '/data' },
    { name: 'files', path: '/var/files' },
  ];
  const notCopied = { secrets: ['TOKEN'], hosts: ['www.shop.test'], volumes, git: 'https://git.example.com/a.git' };
  t.same(commandsOf({ app, notCopied }), [
    'svc app secret set api TOKEN --restart',
    'svc app host add api www.example.com',
    'svc volume create data --size 10Gi',
    'svc volume create files --size 10Gi',
    'svc app update api --volume cache:/cache --volume data:/data --volume files:/var/files',
    undefined,
    'svc key create --plan small',
  ]);
  t.end();
});
