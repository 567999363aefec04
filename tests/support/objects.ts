import type { KubeObject } from '../../runtime/contracts/kubernetes.ts';
import { kinds } from '../../runtime/contracts/resources/kinds.ts';
import type { PlatformConfigSpec } from '../../runtime/contracts/resources/platform-config.ts';
import type { Project } from '../../runtime/contracts/resources/project.ts';
import { idLabel } from '../../runtime/domain/labels.ts';
import type { ObjectList } from '../../runtime/kube/kube-client.ts';
import type { FakeKube } from './fake-kube.ts';

export const environmentId = '019a0000-0000-7000-8000-0000000000e1';

/** The installation's settings in tests: `*.apps.test` on plain HTTP. */
export const settings: PlatformConfigSpec = {
  appsDomain: 'apps.test',
  cluster: 'c1',
  scheme: 'http',
  entryPoints: ['web'],
  runtimeImages: { node: 'registry.test/node:1' },
  hostDomains: [
    { domain: 'shop.test' },
    { domain: 'blog.test' },
    { domain: 'example.test' },
    { domain: 'example.com' },
  ],
};

/** The object that holds {@link settings}. */
export const platformConfigObject: KubeObject = {
  apiVersion: 'platform.svc/v1',
  kind: 'PlatformConfig',
  metadata: { name: 'platform' },
  spec: settings,
};

/** A project whose environments are ready (the first has {@link environmentId}), with their namespaces. */
export function readyProject(name: string, environments: string[] = ['prod']): KubeObject[] {
  const specs = environments.map((environment, index) => ({
    name: environment,
    id: environmentId.slice(0, -1) + String(index + 1),
  }));
  return [
    {
      apiVersion: 'platform.svc/v1',
      kind: 'Project',
      metadata: { name },
      spec: { environments: specs },
      status: {
        phase: 'ready',
        environments: specs.map((spec) => ({ ...spec, namespace: `${name}-${spec.name}`, ready: true })),
      },
    },
    ...environments.map((environment) => ({
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name: `${name}-${environment}` },
    })),
  ];
}

/** Stores a project of {@link readyProject} that has an identity, to which roles, tokens and audit entries belong. */
export function seedProject(
  kube: FakeKube,
  { name, id, environments }: { name: string; id: string; environments?: string[] },
): void {
  const [project, ...namespaces] = readyProject(name, environments);
  if (!project) throw new Error('no project');
  kube.seed({ ...project, metadata: { ...project.metadata, labels: { [idLabel]: id } } }, ...namespaces);
}

/** Stores the settings and the project `shop` with the environment `prod`. */
export function seedShop(kube: FakeKube): void {
  kube.seed(platformConfigObject, ...readyProject('shop'));
}

/** The projects that a platform admin sees: all of them. */
export function allProjects(kube: FakeKube): () => Promise<ObjectList<Project>> {
  return () => kube.list<Project>(kinds.Project);
}
