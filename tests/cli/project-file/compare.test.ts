import t from 'tap';
import { compareSettings, type SettingRules } from '../../../cli/project-file/compare.ts';
import { rulesByKind } from '../../../cli/project-file/rules.ts';

const rules: SettingRules = {
  port: { default: 8080 },
  memory: rulesByKind.apps['memory'] ?? {},
  image: { kept: true },
  size: { fixed: true },
  hosts: { form: 'set', default: [] },
  env: { form: 'map' },
  bindings: { form: 'map' },
  git: { form: 'fields' },
};

t.test('a setting of the file that the object has in another form is no change', (t) => {
  const desired = { port: 8080, memory: '1024Mi', hosts: ['a', 'b'], env: { A: '1' }, git: { url: 'x' } };
  const live = { memory: '1Gi', hosts: ['b', 'a'], env: { A: '1', B: '2' }, git: { url: 'x', branch: 'main' } };
  t.same(compareSettings(rules, { desired, live }), { changes: [], body: {} });
  t.end();
});

t.test('a setting that differs is sent, with its value before', (t) => {
  const { changes, body } = compareSettings(rules, { desired: { port: 3000, memory: '2Gi' }, live: { memory: '1Gi' } });
  t.same(changes, [
    { setting: 'port', before: 8080, after: 3000 },
    { setting: 'memory', before: '1Gi', after: '2Gi' },
  ]);
  t.same(body, { port: 3000, memory: '2Gi' });
  t.end();
});

t.test('a setting that has left the file is reset only if it came from the file', (t) => {
  const live = { port: 3000, memory: '2Gi', hosts: ['a'], image: 'r/x:1' };
  t.same(compareSettings(rules, { desired: {}, live }).body, {}, 'others set it');
  const applied = { port: 3000, memory: '2Gi', hosts: ['a'], image: 'r/x:1' };
  const { changes, body } = compareSettings(rules, { desired: {}, applied, live });
  t.same(body, { port: 8080, memory: null, hosts: [] }, 'an image has no default and stays');
  t.same(changes, [
    { setting: 'port', before: 3000 },
    { setting: 'memory', before: '2Gi' },
    { setting: 'hosts', before: ['a'] },
  ]);
  const reset = { port: 8080, hosts: [] };
  t.same(compareSettings(rules, { desired: {}, applied, live: reset }).changes, [], 'it is reset already');
  t.end();
});

t.test('entries of a map are compared one by one, and those of others stay', (t) => {
  const { changes, body } = compareSettings(rules, {
    desired: { env: { A: '2', C: '3' } },
    applied: { env: { A: '1', OLD: 'x', GONE: 'y' } },
    live: { env: { A: '1', OLD: 'x', OTHERS: 'z' } },
  });
  t.same(changes, [
    { setting: 'env.A', before: '1', after: '2' },
    { setting: 'env.C', after: '3' },
    { setting: 'env.OLD', before: 'x' },
  ]);
  t.same(body, { env: { A: '2', OTHERS: 'z', C: '3' } });
  t.end();
});

t.test('an entry with fields changes when a field of the file differs', (t) => {
  const live = { bindings: { orders: { prefix: 'DB_', database: 'own' } } };
  t.same(compareSettings(rules, { desired: { bindings: { orders: {} } }, live }).changes, []);
  const { changes } = compareSettings(rules, { desired: { bindings: { orders: { prefix: 'PG_' } } }, live });
  t.same(changes, [{ setting: 'bindings.orders', before: live.bindings.orders, after: { prefix: 'PG_' } }]);
  t.end();
});

t.test('a field that has left the file is removed', (t) => {
  const { body } = compareSettings(rules, {
    desired: { git: { url: 'x' } },
    applied: { git: { url: 'x', path: 'sub' } },
    live: { git: { url: 'x', path: 'sub', branch: 'main' } },
  });
  t.same(body, { git: { url: 'x', path: null } });
  t.end();
});

t.test('a setting that only a new object can have is marked, and never reset', (t) => {
  const { changes } = compareSettings(rules, { desired: { size: '2Gi' }, live: { size: '1Gi' } });
  t.same(changes, [{ setting: 'size', before: '1Gi', after: '2Gi', fixed: true }]);
  t.same(compareSettings(rules, { desired: {}, applied: { size: '1Gi' }, live: { size: '1Gi' } }).changes, []);
  t.end();
});

t.test('names from prototypes are names like any other', (t) => {
  const { changes } = compareSettings(rules, {
    desired: { env: JSON.parse('{"__proto__": "1", "constructor": "2"}') },
    live: { env: {} },
  });
  t.same(
    changes.map(({ setting }) => setting),
    ['env.__proto__', 'env.constructor'],
  );
  t.end();
});
