import { readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import type { V1PolicyRule } from '@kubernetes/client-node';
import t from 'tap';
import { componentRules } from '../../../../infra/manifests/monitoring/access.ts';
import { accessManifests, environmentRules } from '../../../../infra/manifests/platform/access.ts';
import { processNames, type ProcessName } from '../../../../infra/manifests/platform/processes.ts';
import { kinds, workloadResources, type ResourceKind } from '../../../../runtime/contracts/resources/kinds.ts';

/*
 * Compares the rights of each process with the Kubernetes calls in the files that it loads. A file that makes a call names
 * the kind as `kinds.X`. This finds rights that no call can use; that no call lacks a right is shown by the end-to-end
 * tests, because the API server refuses it.
 */

const root = resolve(import.meta.dirname, '../../../..');

const mains: Readonly<Record<ProcessName, string>> = {
  'console-api': 'functions/main.ts',
  'svc-workers': 'workers/main.ts',
  'svc-controllers': 'workers/controllers/main.ts',
  'svc-authz': 'gate/authz/main.ts',
  'svc-interceptor': 'gate/interceptor/main.ts',
};

/** They name kinds without a call: the rights themselves, and the table of all kinds. */
const declarations = ['infra/manifests/platform/access.ts', 'runtime/contracts/resources/kinds.ts'];

const typeArguments = String.raw`(?:<[^;()]*>)?`;
const watches = String.raw`\b(?:createInformer|informers\.of)${typeArguments}\(|\.watch${typeArguments}\(|\b(?:watches|owns): \[`;

/** Verb → the calls that need it, in a file that names the kind. */
const callsBeside: Readonly<Record<string, RegExp>> = {
  list: new RegExp(String.raw`\bkube\.list${typeArguments}\(|${watches}`),
  watch: new RegExp(watches),
  patch: /\bkube\.mergePatch\b/,
  delete: /\bkube\.delete\(|\b(?:deleteChild|deleteSecret|releaseName)\(/,
};

/** Verb → the calls that need it; the kind can be named by another file, because they take objects of any kind. */
const callsAnywhere: Readonly<Record<string, RegExp>> = {
  get: new RegExp(String.raw`\bkube\.get${typeArguments}\(kinds\.|\b(?:ensureChild|applyObject|deleteChild)\b`),
  create: /\bkube\.create\b/,
  update: /\bkube\.replace\b/,
};

/** Subresource and verb → the calls that need it. */
const subresourceCalls: Readonly<Record<string, RegExp>> = {
  'status update': /\.replaceStatus\(/,
  'scale get': /\.getScale\(/,
  'scale update': /\.replaceScale\(/,
  'log get': /\.stream\(/,
  'exec get': /\.openExec\(/,
  'exec create': /\.openExec\(/,
};

interface SourceFile {
  text: string;
  kinds: ReadonlySet<string>;
}

/** `group/plural`, as in a rule. */
function resourceName({ apiVersion, plural }: ResourceKind): string {
  return `${apiVersion.includes('/') ? apiVersion.split('/')[0] : ''}/${plural}`;
}

/** The files that a program loads, without imports of types only. */
function loadedFiles(main: string): SourceFile[] {
  const paths = new Set([main]);
  const files: SourceFile[] = [];
  for (const path of paths) {
    const text = readFileSync(join(root, path), 'utf8');
    for (const match of text.matchAll(
      /^(?:import|export)(?! type)[^;]*?'(\.[^']+\.ts)';|\bimport\('(\.[^']+\.ts)'\)/gm,
    )) {
      paths.add(relative(root, resolve(root, dirname(path), match[1] ?? match[2] ?? '')));
    }
    if (!declarations.includes(path)) files.push({ text, kinds: namedKinds(text) });
  }
  return files;
}

function namedKinds(text: string): Set<string> {
  const named = Object.entries(kinds).filter(([key]) => new RegExp(String.raw`\bkinds\.${key}\b`).test(text));
  const all: ResourceKind[] = named.map(([, kind]) => kind);
  if (text.includes('workloadResources')) all.push(...Object.values(workloadResources));
  return new Set(all.map(resourceName));
}

/** Whether a call in these files can use the right to this verb on this resource. */
function isUsed(files: readonly SourceFile[], verb: string, resource: string): boolean {
  const [parent, subresource] = splitSubresource(resource);
  // Not called: the API server checks them when an object with an owner or a RoleBinding is created.
  if (subresource === 'finalizers' || verb === 'bind') return true;
  const naming = files.filter((file) => file.kinds.has(parent));
  if (subresource !== undefined) {
    const call = subresourceCalls[`${subresource} ${verb}`];
    return call !== undefined && files.some(({ text }) => call.test(text));
  }
  const beside = callsBeside[verb];
  if (beside) return naming.some(({ text }) => beside.test(text));
  const anywhere = callsAnywhere[verb];
  return anywhere !== undefined && naming.length > 0 && files.some(({ text }) => anywhere.test(text));
}

/** `/pods/log` → `/pods`, `log`; the part before the first slash is the group. */
function splitSubresource(resource: string): [string, string | undefined] {
  const [group = '', plural = '', subresource] = resource.split('/');
  return [`${group}/${plural}`, subresource];
}

function rulesOf(name: ProcessName): V1PolicyRule[] {
  const inEnvironments: readonly V1PolicyRule[] = name === 'svc-authz' ? [] : environmentRules[name];
  const roles = accessManifests(name) as { rules?: V1PolicyRule[] }[];
  const ofComponents: readonly V1PolicyRule[] = name === 'svc-controllers' ? componentRules : [];
  return [...roles.flatMap(({ rules = [] }) => rules), ...inEnvironments, ...ofComponents];
}

/** The rights in the rules that no call uses, as `verb group/resource`. */
function unusedRights(files: readonly SourceFile[], rules: readonly V1PolicyRule[]): string[] {
  return rules.flatMap(({ apiGroups = [], resources = [], verbs }) =>
    apiGroups.flatMap((group) =>
      resources.flatMap((resource) =>
        verbs
          .filter((verb) => !isUsed(files, verb, `${group}/${resource}`))
          .map((verb) => `${verb} ${group}/${resource}`),
      ),
    ),
  );
}

for (const name of processNames) {
  t.test(`${name} has no right that none of its calls uses`, (t) => {
    t.same(unusedRights(loadedFiles(mains[name]), rulesOf(name)), []);
    t.end();
  });
}

t.test('a right that no call uses is found', (t) => {
  const interceptor = loadedFiles(mains['svc-interceptor']);
  const rules = [
    { apiGroups: [''], resources: ['pods'], verbs: ['list', 'watch', 'delete'] },
    { apiGroups: [''], resources: ['secrets'], verbs: ['get'] },
    { apiGroups: ['apps'], resources: ['deployments/scale'], verbs: ['get', 'update', 'patch'] },
  ];
  t.same(unusedRights(interceptor, rules), ['delete /pods', 'get /secrets', 'patch apps/deployments/scale']);
  t.end();
});
