import t from 'tap';
import type { OtherSettings } from '../../../runtime/contracts/resources/app-settings.ts';
import { kinds } from '../../../runtime/contracts/resources/kinds.ts';
import { revisionsOfApp, variables } from '../../support/revisions.ts';

const other: OtherSettings = { replicas: 2, autoRollback: true, bindings: [{ service: 'orders' }] };

t.test('200: a revision as it was, and what differs from the one before', async (t) => {
  const { rollOut, change, read } = await revisionsOfApp(t);
  await rollOut({
    settings: { port: 8080, env: variables({ LEVEL: 'debug' }) },
    otherSettings: { ...other, replicas: 1 },
    environment: { LEVEL: 'debug', TOKEN: 'secret-1', DB_PASSWORD: 'same' },
  });
  await rollOut({
    image: 'api:2',
    commit: 'c2',
    settings: { port: 80, env: variables({ LEVEL: 'info' }), volumes: [{ name: 'data', path: '/data' }] },
    otherSettings: other,
    environment: { LEVEL: 'info', TOKEN: 'secret-2', DB_PASSWORD: 'same' },
  });
  await change({ port: 9999, replicas: 5, env: variables({ LEVEL: 'other' }) });
  const first = await read(1);
  t.match(first.body, { deployment: { revision: 1, image: 'api:1' }, settings: { port: 8080, replicas: 1 } });
  t.notHas(first.body, 'comparison', 'nothing ran before it');
  const { status, body, text } = await read(2);
  t.equal(status, 200);
  t.same(body.settings, { port: 80, volumes: [{ name: 'data', path: '/data' }], ...other });
  t.same(body.variables, [{ name: 'LEVEL', value: 'info' }]);
  t.same(body.secrets, ['DB_PASSWORD', 'TOKEN']);
  t.equal(body.comparison.revision, 1);
  t.same(
    body.comparison.differences.map((difference: object) => Object.values(difference).slice(0, -1)),
    [
      ['deployment', 'image', 'changed', 'api:1', 'api:2'],
      ['deployment', 'commit', 'added', 'c2'],
      ['setting', 'port', 'changed', '8080', '80'],
      ['setting', 'volumes', 'added', 'data:/data'],
      ['setting', 'replicas', 'changed', '1', '2'],
      ['variable', 'LEVEL', 'changed', 'debug', 'info'],
      ['secret', 'TOKEN', 'changed'],
    ],
  );
  t.same(body.comparison.unknown, []);
  t.notMatch(text, /secret-|same|c2VjcmV0/, 'no value of a secret');
  t.match((await read(1, '?compareWith=2')).body.comparison, { revision: 2, differences: { length: 7 } });
});

t.test('200: what a rollback would change of the current state of the app', async (t) => {
  const { rollOut, change, read } = await revisionsOfApp(t);
  await rollOut({
    settings: { port: 8080, env: variables({ LEVEL: 'debug' }) },
    otherSettings: other,
    environment: { LEVEL: 'debug', TOKEN: '1' },
  });
  const current = await rollOut({
    settings: { port: 8080, env: variables({ LEVEL: 'info' }) },
    otherSettings: other,
    environment: { LEVEL: 'info', TOKEN: '2' },
    image: 'api:2',
  });
  const release = { generation: 2, deploymentId: current.id, image: 'api:2', envSecret: 'app-api-env-2' };
  // Set since, and not in its pods yet.
  await change({ release, memory: '1Gi', replicas: 2, env: variables({ LEVEL: 'warn', ADDED: 'yes' }) });
  const { comparison } = (await read(1, '?compareWith=now')).body;
  t.notHas(comparison, 'revision');
  t.same(
    comparison.differences.map((difference: object) => Object.values(difference).join(' ')),
    [
      'deployment image changed api:2 api:1 true',
      'setting memory removed 1Gi true',
      'setting bindings added orders false',
      'variable ADDED removed yes true',
      'variable LEVEL changed warn debug true',
      'secret TOKEN changed true',
    ],
  );
});

t.test('200: what is not stored is not compared', async (t) => {
  const { kube, rollOut, app, read } = await revisionsOfApp(t);
  await rollOut();
  await rollOut({ settings: { port: 8080 }, environment: { TOKEN: '1' } });
  await rollOut({ settings: { port: 80 }, otherSettings: other, environment: { TOKEN: '1' } });
  const first = (await read(1)).body;
  for (const part of ['settings', 'variables', 'secrets']) t.notHas(first, part);
  t.match((await read(2)).body, { settings: { port: 8080, volumes: [] }, variables: [], secrets: ['TOKEN'] });
  t.notHas((await read(2)).body.settings, 'replicas');
  t.same((await read(2)).body.comparison.unknown.length, 11, 'nothing is known of revision 1');
  t.match((await read(3)).body.comparison, {
    differences: [{ name: 'port', before: '8080', after: '80' }],
    unknown: ['replicas', 'releaseCommand', 'bindings', 'autoRollback'],
  });
  const { apiVersion, kind } = kinds.Secret;
  await kube.delete({ apiVersion, kind, namespace: app().metadata.namespace ?? '', name: 'app-api-env-2' });
  t.same((await read(3)).body.comparison.unknown.at(-1), 'secrets', 'the environment was deleted');
  t.notHas((await read(2)).body, 'secrets');
});

t.test('200: the pods of an automatic rollback have the variables of the revision that it restores', async (t) => {
  const { rollOut, read } = await revisionsOfApp(t);
  await rollOut({ settings: { port: 80, env: variables({ A: 'good' }) }, environment: { A: 'good' } });
  await rollOut({ settings: { port: 80, env: variables({ A: 'bad' }) }, environment: { A: 'bad' } });
  const back = {
    trigger: 'rollback',
    restores: 'environment',
    settings: { port: 80, env: variables({ A: 'bad' }) },
  } as const;
  await rollOut({ ...back, rollbackOf: 1, envSecret: 'app-api-env-1' });
  await rollOut({ ...back, rollbackOf: 3, envSecret: 'app-api-env-1' });
  t.match((await read(4)).body, { variables: [{ name: 'A', value: 'good' }], secrets: [] });
  t.same((await read(4, '?compareWith=1')).body.comparison.differences, []);
});

t.test('400, 404 and 422: revisions that do not exist', async (t) => {
  const { rollOut, read } = await revisionsOfApp(t);
  await rollOut();
  t.match((await read(7)).body, { code: 'not_found', message: /no revision 7/ });
  t.match((await read(1, '?compareWith=7')).body, { code: 'not_found', message: /no revision 7/ });
  for (const text of ['0', 'one', '1e3', '99999999999']) t.equal((await read(text)).status, 422, text);
  t.equal((await read(1, '?compareWith=later')).status, 400);
});
