import t from 'tap';
import { duration } from '../../../../infra/local/apiserver/table.ts';
import { mergePatch } from '../../../../infra/local/apiserver/json.ts';
import { compileRule } from '../../../../infra/local/apiserver/schema-rules.ts';
import { jsonPath } from '../../../../infra/local/apiserver/custom-resource.ts';
import { applyDefaults, prune, validate } from '../../../../infra/local/apiserver/schema.ts';
import type { Schema } from '../../../../infra/local/apiserver/structural.ts';
import { parseLabelSelector } from '../../../../infra/local/apiserver/selector.ts';
import { customResourceDefinitions } from '../../../../infra/crds/custom-resources.ts';
import type { KubeObject } from '../../../../runtime/contracts/kubernetes.ts';
import { startApi } from '../../../support/local-api.ts';

t.test('rules are evaluated as by CEL', (t) => {
  const scope = {
    self: {
      name: 'abc',
      size: '2Gi',
      count: 3,
      list: [{ id: 'a', on: true }, { id: 'b' }],
      map: { k: 'v' },
      text: "it's",
    },
    oldSelf: { size: '1024Mi' },
  };
  const holding = [
    'self.count > 2 && self.count <= 3',
    'self.count + 1 == 4',
    '!(self.count == 4) || false',
    'self.count == 3 ? self.name == "abc" : false',
    "self.name.matches('^a') && self.name.size() == 3 && size(self.list) == 2",
    "self.name.startsWith('a') && self.name.endsWith('c') && self.name.contains('b')",
    "self.list.all(x, x.id != 'c') && self.list.exists(x, has(x.on) && x.on)",
    "self.list.exists_one(x, x.id == 'a') && self.list.map(x, x.id) == ['a', 'b']",
    "self.list.filter(x, has(x.on))[0].id == 'a'",
    'has(self.map.k) && !has(self.map.z) && "k" in self.map && self.map["k"] == "v"',
    'quantity(self.size).compareTo(quantity(oldSelf.size)) > 0',
    "self.name in ['abc', 'def']",
    "self.text == 'it\\'s'",
    '-1 < 0 && 1.5 > 1',
  ];
  for (const rule of holding) t.equal(compileRule(rule).holds(scope.self, scope.oldSelf), true, rule);
  const broken = ['self.none == 1', 'self.count', 'self.name > 1', 'self.list[9].id == "a"', 'self.name.all(x, true)'];
  for (const rule of broken) t.equal(compileRule(rule).holds(scope.self, scope.oldSelf), false, rule);
  t.equal(compileRule('self == oldSelf').transition, true);
  t.equal(compileRule('self.name == "oldSelf"').transition, false);
  for (const rule of ['self.', 'self.name ==', 'fetch("x")', '(self', 'a b', '"open', 'self @ 1']) {
    t.throws(() => compileRule(rule), rule);
  }
  t.end();
});

t.test('every rule and column of the platform is supported, and an unsupported one is refused', async (t) => {
  const { kube } = await startApi(t);
  for (const definition of customResourceDefinitions) t.ok(await kube.create(definition), definition.metadata.name);
  const [first] = customResourceDefinitions;
  const changed = structuredClone(first) as KubeObject & {
    metadata: { name: string };
    spec: { group: string; versions: { schema: { openAPIV3Schema: object } }[] };
  };
  changed.metadata.name = changed.metadata.name.replace('platform.svc', 'example.com');
  changed.spec.group = 'example.com';
  for (const version of changed.spec.versions) {
    Object.assign(version.schema.openAPIV3Schema, { 'x-kubernetes-validations': [{ rule: 'self.a.fold(b)' }] });
  }
  t.match(await kube.create(changed).catch((error: unknown) => error), { status: 422, message: /self\.a\.fold/ });
  for (const version of changed.spec.versions) {
    Object.assign(version.schema.openAPIV3Schema, { 'x-kubernetes-validations': [] });
    Object.assign(version, { additionalPrinterColumns: [{ name: 'A', type: 'string', jsonPath: '.list[0]' }] });
  }
  t.match(await kube.create(changed).catch((error: unknown) => error), { status: 422, message: /\.list\[0\]/ });
});

const schema: Schema = {
  type: 'object',
  properties: {
    port: { 'x-kubernetes-int-or-string': true },
    labels: { type: 'object', additionalProperties: { type: 'string' } },
    free: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
    list: {
      type: 'array',
      items: {
        type: 'object',
        properties: { id: { type: 'string' }, size: { type: 'integer', default: 1, maximum: 5 } },
      },
    },
    maybe: { type: 'string', nullable: true },
  },
};

t.test('unknown fields are dropped, except where the schema preserves them', (t) => {
  const unknown: string[] = [];
  const object = { port: 1, labels: { a: 'b' }, free: { x: { y: 1 } }, list: [{ id: 'a', no: 1 }], none: {} };
  t.same(prune(object, schema, '', unknown), {
    port: 1,
    labels: { a: 'b' },
    free: { x: { y: 1 } },
    list: [{ id: 'a' }],
  });
  t.same(unknown, ['list[0].no', 'none']);
  t.end();
});

t.test('unchanged values are not validated again, whatever changes next to them', (t) => {
  const old = { list: [{ id: 'a', size: 9 }], labels: { a: 'b' } };
  t.same(validate({ ...old, port: 1 }, schema, old), []);
  t.match(validate({ list: [{ id: 'a', size: 8 }] }, schema, old), [{ field: 'list[0].size' }]);
  t.match(validate({ list: [{ id: 'b', size: 9 }] }, schema, old), [{ field: 'list[0].size' }]);
  t.same(validate({ port: 'http', maybe: null }, schema, undefined), []);
  t.match(validate({ port: true }, schema, undefined), [{ reason: 'FieldValueTypeInvalid' }]);
  const filled = { list: [{ id: 'a' }, { id: 'b', size: 3 }] };
  applyDefaults(filled, schema);
  t.same(filled, {
    list: [
      { id: 'a', size: 1 },
      { id: 'b', size: 3 },
    ],
  });
  t.end();
});

t.test('selectors and paths are parsed, patches applied, and ages printed as Kubernetes does', (t) => {
  const labels = { app: 'web', tier: 'a' };
  const object = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'x', labels } };
  const holding = [
    '',
    'app',
    '!old',
    'app=web',
    'app==web',
    'app!=db',
    'other!=x',
    'tier in (a, b),app',
    'tier notin (c)',
    'x notin (y)',
  ];
  for (const selector of holding) t.equal(parseLabelSelector(selector)(object), true, selector);
  for (const selector of ['old', '!app', 'app=', 'app!=web', 'tier in (b)', 'tier notin (a,b)', 'other=x']) {
    t.equal(parseLabelSelector(selector)(object), false, selector);
  }
  for (const selector of ['a=b=c', '=x', 'a in b', 'a b', '!a=b', ','])
    t.throws(() => parseLabelSelector(selector), selector);
  const thing = {
    a: { b: 1 },
    list: [
      { t: 'x', v: 2 },
      { t: 'y', v: 3 },
    ],
  };
  t.equal(jsonPath('.a.b')(thing), 1);
  t.equal(jsonPath('.list[?(@.t=="y")].v')(thing), 3);
  t.equal(jsonPath('.none.at.all')(thing), undefined);
  for (const path of ['list', '.list[0]', '.list[*]']) t.throws(() => jsonPath(path), path);
  t.same(mergePatch({ a: { b: 1, c: [1] }, d: 1 }, { a: { b: null, c: [2], e: { f: null } }, d: 2 }), {
    a: { c: [2], e: {} },
    d: 2,
  });
  const ages: [number, string][] = [
    [-5, '<invalid>'],
    [-1, '0s'],
    [119, '119s'],
    [120, '2m'],
    [185, '3m5s'],
    [700, '11m'],
    [10_800, '3h'],
    [11_000, '3h3m'],
    [100_000, '27h'],
    [200_000, '2d7h'],
    [800_000, '9d'],
  ];
  for (const [seconds, text] of ages) t.equal(duration(seconds), text);
  t.end();
});
