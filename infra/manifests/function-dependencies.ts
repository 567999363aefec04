import { createHash } from 'node:crypto';
import type { V1EnvVar, V1PodSpec, V1Volume, V1VolumeMount } from '@kubernetes/client-node';
import type { Json } from '../../runtime/contracts/kubernetes.ts';
import { dependenciesContainer } from '../../runtime/contracts/pod.ts';
import type { FunctionRuntime, InlineCode } from '../../runtime/contracts/resources/function.ts';
import { parseDependencies } from '../../runtime/domain/dependencies.ts';
import { hostnameLabel, idLabel, workloadLabels } from '../../runtime/domain/labels.ts';
import { containerSecurity } from './platform/pod.ts';
import { partLabel, workloadOf, type FunctionIdentity } from './function-identity.ts';
import { registryVariables, type PackageRegistries, type PackageSources } from './package-registries.ts';
import type { VolumeClaim } from './volume.ts';

/** Where the claim is mounted. The packages appear in a folder of it once all of them are installed. */
const cacheDirectory = '/var/run/svc/dependencies';
const installedDirectory = `${cacheDirectory}/packages`;
const cacheSize = '1Gi';

/** The input of an installation. The image is part of it, since compiled packages work only with the runtime they were built for. */
export interface Dependent extends Omit<InlineCode, 'code'> {
  image: string;
}

interface Installer {
  manifest: string;
  command: string[];
  registry: keyof PackageRegistries;
  /** Further variables of the code's container. */
  variables: Record<string, string>;
}

const installers: Readonly<Record<FunctionRuntime, Installer>> = {
  node: {
    manifest: 'dependencies.json',
    command: ['tini', '--', 'node', '/runtime/install.mjs'],
    registry: 'npm',
    // For `require`; the runtime handles `import`.
    variables: { NODE_PATH: `${installedDirectory}/node_modules` },
  },
  python: {
    manifest: 'requirements.txt',
    command: ['tini', '--', 'python3', '/runtime/install.py'],
    registry: 'pypi',
    variables: {},
  },
};

/** Whether the code has dependencies. Pure. */
export function hasDependencies({ dependencies = [] }: Pick<InlineCode, 'dependencies'>): boolean {
  return dependencies.length > 0;
}

/** The installer's manifest by its file name; empty without dependencies. Pure. @throws Problem for an invalid dependency */
export function dependencyManifest({ dependencies = [], runtime }: Omit<InlineCode, 'code'>): Record<string, string> {
  if (dependencies.length === 0) return {};
  const parsed = parseDependencies(dependencies, runtime);
  const content =
    runtime === 'node'
      ? JSON.stringify({ private: true, dependencies: Object.fromEntries(parsed.map((d) => [d.name, d.version])) })
      : parsed.map(({ name, version }) => `${name}==${version}`).join('\n');
  return { [installers[runtime].manifest]: `${content}\n` };
}

/** The claim's name contains a digest of the dependencies, so that changed dependencies get a new claim. */
export function dependenciesClaimName(name: string, { dependencies = [], runtime, image }: Dependent): string {
  const digest = createHash('sha256').update(JSON.stringify([runtime, image, dependencies.toSorted()]));
  return `function-${name}-dependencies-${digest.digest('hex').slice(0, 12)}`;
}

/** The claim that keeps installed packages for later starts. Pure. */
export function dependenciesClaim(identity: FunctionIdentity, dependent: Dependent): VolumeClaim {
  return {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: {
      name: dependenciesClaimName(identity.name, dependent),
      namespace: identity.namespace,
      labels: { ...workloadLabels(workloadOf(identity)), [partLabel]: 'dependencies' },
    },
    // The mode that every cluster supports. It requires the pods of one function to run on one node.
    spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: cacheSize } } },
  };
}

/** The parts that a pod has in addition for its code. */
export interface DependencyParts {
  pod: Pick<V1PodSpec, 'affinity' | 'initContainers'>;
  /** Variables of the container that runs the code. */
  env: V1EnvVar[];
  volumeMounts: V1VolumeMount[];
  volumes: Json<V1Volume>[];
}

/** The parts of a pod with dependencies: an init container installs them unless the claim already holds them. Pure. */
export function dependencyParts(
  { id, name }: FunctionIdentity,
  dependent: Dependent,
  { codeDirectory, packageRegistries, caCertificates }: PackageSources & { codeDirectory: string },
): DependencyParts {
  if (!hasDependencies(dependent)) return { pod: {}, env: [], volumeMounts: [], volumes: [] };
  const { manifest, command, registry, variables } = installers[dependent.runtime];
  const packagesFolder = { name: 'SVC_DEPENDENCIES', value: installedDirectory };
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
            packagesFolder,
            { name: 'SVC_MANIFEST', value: `${codeDirectory}/${manifest}` },
            ...registryVariables(packageRegistries, registry),
            ...(caCertificates === undefined ? [] : [{ name: 'SVC_CA_CERTIFICATES', value: caCertificates }]),
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
    env: [packagesFolder, ...Object.entries(variables).map(([variable, value]) => ({ name: variable, value }))],
    volumeMounts: [{ ...cache, readOnly: true }],
    volumes: [{ name: 'dependencies', persistentVolumeClaim: { claimName: dependenciesClaimName(name, dependent) } }],
  };
}
