import { createHash } from 'node:crypto';
import type { FunctionRuntime, InlineCode } from '../../runtime/contracts/resources/function.ts';
import { parseDependencies } from '../../runtime/domain/dependencies.ts';
import { hostnameLabel, idLabel, workloadLabels } from '../../runtime/domain/labels.ts';
import { containerSecurity } from './platform/pod.ts';
import { partLabel, workloadOf, type FunctionIdentity } from './function-identity.ts';
import { registryVariables, type PackageRegistries } from './package-registries.ts';
import type { VolumeClaim } from './volume.ts';

/** The name of the init container that installs. */
export const dependenciesContainer = 'dependencies';

/** Where the claim is mounted; what is installed appears in a folder of it, as a whole. */
const cacheDirectory = '/var/run/svc/dependencies';
const installedDirectory = `${cacheDirectory}/packages`;
const cacheSize = '1Gi';

/** What decides over what is installed. Packages with compiled parts fit the runtime that installed them only. */
export interface Dependent extends Omit<InlineCode, 'code'> {
  image: string;
}

interface Installer {
  manifest: string;
  command: string[];
  registry: keyof PackageRegistries;
  /** Of the code, beside the folder itself. */
  variables: Record<string, string>;
}

const installers: Readonly<Record<FunctionRuntime, Installer>> = {
  node: {
    manifest: 'dependencies.json',
    command: ['tini', '--', 'node', '/runtime/install.mjs'],
    registry: 'npm',
    // Where `require` looks; the runtime sees to `import`.
    variables: { NODE_PATH: `${installedDirectory}/node_modules` },
  },
  python: {
    manifest: 'requirements.txt',
    command: ['tini', '--', 'python3', '/runtime/install.py'],
    registry: 'pypi',
    variables: {},
  },
};

/** Whether anything is to be installed. Pure. */
export function hasDependencies({ dependencies = [] }: Pick<InlineCode, 'dependencies'>): boolean {
  return dependencies.length > 0;
}

/** The manifest that the installer reads, by its file's name; nothing without dependencies. Pure. @throws Problem */
export function dependencyManifest({ dependencies = [], runtime }: Omit<InlineCode, 'code'>): Record<string, string> {
  if (dependencies.length === 0) return {};
  const parsed = parseDependencies(dependencies, runtime);
  const content =
    runtime === 'node'
      ? JSON.stringify({ private: true, dependencies: Object.fromEntries(parsed.map((d) => [d.name, d.version])) })
      : parsed.map(({ name, version }) => `${name}==${version}`).join('\n');
  return { [installers[runtime].manifest]: `${content}\n` };
}

/** The claim's name carries a digest of what is installed into it, so that other dependencies are another claim. */
export function dependenciesClaimName(name: string, { dependencies = [], runtime, image }: Dependent): string {
  const digest = createHash('sha256').update(JSON.stringify([runtime, image, dependencies.toSorted()]));
  return `function-${name}-dependencies-${digest.digest('hex').slice(0, 12)}`;
}

/** Where what is installed once stays for every later start. Pure. */
export function dependenciesClaim(identity: FunctionIdentity, dependent: Dependent): VolumeClaim {
  return {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: {
      name: dependenciesClaimName(identity.name, dependent),
      namespace: identity.namespace,
      labels: { ...workloadLabels(workloadOf(identity)), [partLabel]: 'dependencies' },
    },
    // The one mode that every cluster has; the pods of one function are on one node for it.
    spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: cacheSize } } },
  };
}

/** The parts of a pod that has dependencies. */
export interface DependencyParts {
  pod: Record<string, unknown>;
  /** Of the container that runs the code. */
  env: object[];
  volumeMounts: object[];
  volumes: object[];
}

/** What a pod gets for its dependencies: a step before the code that finds them installed or installs them. Pure. */
export function dependencyParts(
  { id, name }: FunctionIdentity,
  dependent: Dependent,
  { codeDirectory, registries }: { codeDirectory: string; registries?: PackageRegistries | undefined },
): DependencyParts {
  if (!hasDependencies(dependent)) return { pod: {}, env: [], volumeMounts: [], volumes: [] };
  const { manifest, command, registry, variables } = installers[dependent.runtime];
  const found = { name: 'SVC_DEPENDENCIES', value: installedDirectory };
  const cache = { name: 'dependencies', mountPath: cacheDirectory };
  return {
    pod: {
      affinity: {
        podAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: [
            { labelSelector: { matchLabels: { [idLabel]: id } }, topologyKey: hostnameLabel },
          ],
        },
      },
      initContainers: [
        {
          name: dependenciesContainer,
          image: dependent.image,
          command,
          env: [
            found,
            { name: 'SVC_MANIFEST', value: `${codeDirectory}/${manifest}` },
            ...registryVariables(registries, registry),
          ],
          terminationMessagePolicy: 'FallbackToLogsOnError',
          resources: { requests: { cpu: '20m', memory: '48Mi' }, limits: { memory: '512Mi' } },
          securityContext: containerSecurity,
          volumeMounts: [
            { name: 'code', mountPath: codeDirectory, readOnly: true },
            cache,
            { name: 'tmp', mountPath: '/tmp' },
          ],
        },
      ],
    },
    env: [found, ...Object.entries(variables).map(([variable, value]) => ({ name: variable, value }))],
    volumeMounts: [{ ...cache, readOnly: true }],
    volumes: [{ name: 'dependencies', persistentVolumeClaim: { claimName: dependenciesClaimName(name, dependent) } }],
  };
}
