import t from 'tap';
import { z } from 'zod';
import { customResourceDefinitions } from '../../../infra/crds/custom-resources.ts';
import { structuralSchema, type StructuralSchema } from '../../../infra/crds/structural-schema.ts';
import { isPortablePattern } from '../../../infra/local/apiserver/pattern.ts';
import { appSpec } from '../../../runtime/contracts/resources/app.ts';
import { buildSpec } from '../../../runtime/contracts/resources/build.ts';
import { hostNameSpec, workloadNameSpec } from '../../../runtime/contracts/resources/claims.ts';
import { functionSpec } from '../../../runtime/contracts/resources/function.ts';
import { jobSpec } from '../../../runtime/contracts/resources/job.ts';
import { platformConfigSpec } from '../../../runtime/contracts/resources/platform-config.ts';
import { projectSpec } from '../../../runtime/contracts/resources/project.ts';
import { serviceSpec } from '../../../runtime/contracts/resources/service.ts';
import { volumeSpec } from '../../../runtime/contracts/resources/volume.ts';
import { goldenObjects, goldenReleases } from '../../golden/golden.ts';

t.test('a zod schema becomes a structural schema with its defaults and limits', (t) => {
  const schema = z.object({
    name: z.string().min(1).max(63),
    count: z.int().min(0).default(3),
    size: z.int().optional(),
    mode: z.literal('http').default('http'),
    kind: z.enum(['A', 'B']),
    at: z.iso.datetime().optional(),
    path: z.string().startsWith('/').optional(),
    tags: z.array(z.object({ key: z.string() })).max(5),
  });
  t.same(structuralSchema(schema), {
    type: 'object',
    required: ['name', 'kind', 'tags'],
    properties: {
      name: { type: 'string', minLength: 1, maxLength: 63 },
      count: { type: 'integer', format: 'int64', minimum: 0, default: 3 },
      size: { type: 'integer', format: 'int64' },
      mode: { type: 'string', enum: ['http'], default: 'http' },
      kind: { type: 'string', enum: ['A', 'B'] },
      at: { type: 'string', format: 'date-time' },
      path: { type: 'string', pattern: '^\\/.*' },
      tags: {
        type: 'array',
        maxItems: 5,
        items: { type: 'object', required: ['key'], properties: { key: { type: 'string' } } },
      },
    },
  });
  t.end();
});

t.test('a type that a structural schema cannot express is an error', (t) => {
  t.throws(() => structuralSchema(z.object({ x: z.union([z.string(), z.int()]) })), /not structural at "\.x"/);
  t.throws(() => structuralSchema(z.object({ x: z.any() })), /not structural/);
  t.throws(() => structuralSchema(z.object({ x: z.record(z.string(), z.string()) })), /not structural/);
  t.end();
});

t.test('kinds, scopes and short names are the pinned ones', (t) => {
  const summaries = customResourceDefinitions.map(({ metadata, spec }) => [
    metadata.name,
    spec.names.kind,
    spec.scope,
    spec.names.shortNames ?? [],
    spec.versions.map(({ name, subresources }) => [name, subresources !== undefined]),
  ]);
  t.same(summaries, [
    ['projects.platform.svc', 'Project', 'Cluster', ['sproj'], [['v1', true]]],
    ['apps.platform.svc', 'App', 'Namespaced', ['sapp'], [['v1', true]]],
    ['functions.platform.svc', 'Function', 'Namespaced', ['sfn'], [['v1', true]]],
    ['jobs.platform.svc', 'Job', 'Namespaced', ['sjob'], [['v1', true]]],
    ['volumes.platform.svc', 'Volume', 'Namespaced', ['svol'], [['v1', true]]],
    ['builds.platform.svc', 'Build', 'Namespaced', ['sbuild'], [['v1', true]]],
    ['services.platform.svc', 'Service', 'Namespaced', ['ssvc'], [['v1', true]]],
    ['workloadnames.platform.svc', 'WorkloadName', 'Namespaced', [], [['v1', false]]],
    ['hostnames.platform.svc', 'HostName', 'Cluster', [], [['v1', false]]],
    ['platformconfigs.platform.svc', 'PlatformConfig', 'Cluster', [], [['v1', true]]],
  ]);
  for (const { metadata } of customResourceDefinitions) {
    t.same(metadata.labels, { 'app.kubernetes.io/managed-by': 'kipper' });
  }
  t.end();
});

/** Every field of `wanted` with its keywords, compared with `live`. */
function missing(live: StructuralSchema | undefined, desired: StructuralSchema, path: string): string[] {
  if (!live) return [path];
  const { properties = {}, items, ...own } = desired;
  return [
    ...Object.entries(own)
      .filter(([key, value]) => JSON.stringify(live[key as keyof StructuralSchema]) !== JSON.stringify(value))
      .map(([key]) => `${path}: ${key}`),
    ...Object.entries(properties).flatMap(([name, child]) =>
      missing(live.properties?.[name], child, `${path}.${name}`),
    ),
    ...(items ? missing(live.items, items, `${path}[]`) : []),
  ];
}

t.test('every field, default and limit of the contracts is in its CRD', (t) => {
  const contracts = {
    Project: projectSpec,
    App: appSpec,
    Function: functionSpec,
    Job: jobSpec,
    Volume: volumeSpec,
    Build: buildSpec,
    Service: serviceSpec,
    WorkloadName: workloadNameSpec,
    HostName: hostNameSpec,
    PlatformConfig: platformConfigSpec,
  };
  for (const { spec } of customResourceDefinitions) {
    const contract = contracts[spec.names.kind as keyof typeof contracts];
    const live = spec.versions[0]?.schema.openAPIV3Schema.properties?.['spec'];
    t.same(missing(live, structuralSchema(contract), 'spec'), [], spec.names.kind);
  }
  t.match(customResourceDefinitions[1]?.spec.versions[0]?.schema.openAPIV3Schema.properties?.['spec']?.properties, {
    port: { default: 8080, minimum: 1, maximum: 65_535 },
    replicas: { default: 1, minimum: 0, maximum: 50 },
  });
  t.end();
});

t.test('conditions are merged by type, and every column shows an existing field', (t) => {
  for (const { metadata, spec } of customResourceDefinitions) {
    const version = spec.versions[0];
    const schema = version?.schema.openAPIV3Schema;
    const conditions = schema?.properties?.['status']?.properties?.['conditions'];
    if (version?.subresources) {
      t.match(conditions, { 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['type'] });
    }
    for (const { jsonPath } of version?.additionalPrinterColumns ?? []) {
      if (jsonPath.startsWith('.metadata.')) continue;
      let node: StructuralSchema | undefined = schema;
      // A condition is found by its type: `conditions[?(@.type=="Ready")]`.
      for (const step of jsonPath
        .slice(1)
        .replace(/\[\?[^\]]*\]/g, '.[]')
        .split('.')) {
        node = step === '[]' ? node?.items : node?.properties?.[step];
      }
      t.ok(node, `${metadata.name} ${jsonPath}`);
    }
  }
  t.end();
});

/** What the API server would drop from a value, or refuse, by a schema. */
function faults(value: unknown, schema: StructuralSchema | undefined, path: string): string[] {
  if (!schema) return [`${path} is dropped`];
  if (Array.isArray(value)) return value.flatMap((item, index) => faults(item, schema.items, `${path}[${index}]`));
  if (typeof value === 'object' && value !== null) {
    const fields = Object.entries(value);
    const missing = (schema.required ?? [])
      .filter((name) => !(name in value))
      .map((name) => `${path}.${name} is missing`);
    return [
      ...missing,
      ...fields.flatMap(([name, part]) => faults(part, schema.properties?.[name], `${path}.${name}`)),
    ];
  }
  if (schema.enum && !schema.enum.includes(value)) return [`${path} cannot be ${JSON.stringify(value)}`];
  const text = typeof value === 'string' ? value : '';
  const outside =
    (schema.pattern !== undefined && !new RegExp(schema.pattern).test(text)) ||
    text.length > (schema.maxLength ?? Infinity) ||
    Number(value) > (schema.maximum ?? Infinity) ||
    Number(value) < (schema.minimum ?? -Infinity);
  return outside ? [`${path} is out of bounds`] : [];
}

t.test('objects of older releases are valid; api-server.test.ts checks it on a real API server', (t) => {
  for (const release of goldenReleases()) {
    for (const { apiVersion, kind, metadata, spec, status } of goldenObjects(release)) {
      const definition = customResourceDefinitions.find(
        ({ spec: { group, names } }) => `${group}/v1` === apiVersion && names.kind === kind,
      );
      if (!definition) continue;
      const schema = definition.spec.versions[0]?.schema.openAPIV3Schema.properties;
      t.same(faults(spec, schema?.['spec'], 'spec'), [], `${kind} ${metadata.name}`);
      if (status !== undefined) t.same(faults(status, schema?.['status'], 'status'), [], `${kind} ${metadata.name}`);
    }
  }
  t.end();
});

t.test('every pattern means the same in RE2, which Kubernetes uses, and in JavaScript', (t) => {
  const patterns: string[] = [];
  JSON.stringify(customResourceDefinitions, (key, value: unknown) => {
    if (key === 'pattern' && typeof value === 'string') patterns.push(value);
    return value;
  });
  t.not(patterns.length, 0);
  for (const pattern of patterns) t.ok(isPortablePattern(pattern), pattern);
  t.end();
});
