import t from 'tap';
import { compareConfigurations, type Configuration } from '../../../functions/history/difference.ts';
import type { DeploymentView } from '../../../runtime/contracts/api/apps.ts';

function deployment(more: Partial<DeploymentView> = {}): DeploymentView {
  return {
    id: '1',
    app: 'api',
    trigger: 'manual',
    status: 'succeeded',
    current: false,
    image: 'api:1',
    acceptedAt: '2026-01-01T00:00:00Z',
    ...more,
  };
}

const nothing: Configuration = {
  deployment: undefined,
  settings: undefined,
  otherSettings: undefined,
  variables: undefined,
  secrets: undefined,
};

const all = { maySee: () => true };

t.test('only what is known of both deployments differs', (t) => {
  const compare = (before: DeploymentView, after: DeploymentView) =>
    compareConfigurations({ ...nothing, deployment: before }, { ...nothing, deployment: after }, all).differences;
  t.same(compare(deployment(), deployment()), []);
  const first = deployment({ digest: 'sha256:1', commit: 'a1', branch: 'main' });
  t.same(compare(first, deployment({ image: 'api:2', digest: 'sha256:2', commit: 'b2', branch: 'main' })), [
    { kind: 'deployment', name: 'image', change: 'changed', before: 'api:1', after: 'api:2', restorable: true },
    { kind: 'deployment', name: 'digest', change: 'changed', before: 'sha256:1', after: 'sha256:2', restorable: true },
    { kind: 'deployment', name: 'commit', change: 'changed', before: 'a1', after: 'b2', restorable: true },
  ]);
  // Its pods have not started, and nobody named a commit.
  t.same(compare(first, deployment({ branch: 'main' })), [
    { kind: 'deployment', name: 'commit', change: 'removed', before: 'a1', restorable: true },
  ]);
  const { image: _, ...building } = deployment({ commit: 'a1', branch: 'main' });
  t.same(compare(first, building), []);
  t.end();
});

t.test('settings are compared as text, and a rollback restores some of them', (t) => {
  const before: Configuration = {
    ...nothing,
    settings: { port: 8080, memory: '128Mi', healthPath: '/ready' },
    otherSettings: { replicas: 1, autoRollback: true, bindings: [], releaseCommand: ['npm', 'run', 'migrate'] },
  };
  const after: Configuration = {
    ...nothing,
    settings: { port: 80, memory: '128Mi', cpu: '500m', volumes: [{ name: 'data', path: '/data' }] },
    otherSettings: {
      replicas: 3,
      autoRollback: false,
      bindings: [{ service: 'orders' }, { service: 'stock', prefix: 'STOCK_', database: 'stock' }],
    },
  };
  const { differences, unknown } = compareConfigurations(before, after, all);
  t.same(
    differences.map((difference) => Object.values(difference).slice(1).join(' ')),
    [
      'port changed 8080 80 true',
      'healthPath removed /ready true',
      'cpu added 500m true',
      'volumes added data:/data true',
      'replicas changed 1 3 false',
      'releaseCommand removed npm run migrate false',
      'bindings added orders, stock (prefix STOCK_, database stock) false',
      'autoRollback changed on off false',
    ],
  );
  t.same(unknown, ['variables', 'secrets']);
  // A revision of an older version of the platform.
  const old = compareConfigurations({ ...before, otherSettings: undefined }, after, all);
  t.same(old.unknown, ['replicas', 'releaseCommand', 'bindings', 'autoRollback', 'variables', 'secrets']);
  t.equal(old.differences.length, 4);
  t.end();
});

t.test('secrets are compared by name, and values of variables are shown to those who may see them', (t) => {
  const before: Configuration = {
    ...nothing,
    variables: [
      { name: 'GONE', value: 'old-password' },
      { name: 'LEVEL', value: 'debug' },
      { name: 'SAME', value: '1' },
    ],
    secrets: new Map([
      ['KEY', 'k1'],
      ['LOST', 'l'],
      ['TOKEN', 't'],
    ]),
  };
  const after: Configuration = {
    ...nothing,
    variables: [
      { name: 'LEVEL', value: 'info' },
      { name: 'SAME', value: '1' },
    ],
    secrets: new Map([
      ['KEY', 'k2'],
      ['NEW', 'n'],
      ['TOKEN', 't'],
    ]),
  };
  const secrets = [
    { kind: 'secret', name: 'KEY', change: 'changed', restorable: true },
    { kind: 'secret', name: 'LOST', change: 'removed', restorable: true },
    { kind: 'secret', name: 'NEW', change: 'added', restorable: true },
  ];
  t.same(compareConfigurations(before, after, all).differences, [
    { kind: 'variable', name: 'GONE', change: 'removed', before: 'old-password', restorable: true },
    { kind: 'variable', name: 'LEVEL', change: 'changed', before: 'debug', after: 'info', restorable: true },
    ...secrets,
  ]);
  t.same(
    compareConfigurations(before, after, { maySee: ({ value }) => value === 'info', bound: new Set(['KEY']) })
      .differences,
    [
      { kind: 'variable', name: 'GONE', change: 'removed', restorable: true },
      { kind: 'variable', name: 'LEVEL', change: 'changed', after: 'info', restorable: true },
      { ...secrets[0], restorable: false },
      ...secrets.slice(1),
    ],
  );
  t.end();
});
