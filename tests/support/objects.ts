import type { KubeObject } from '../../runtime/contracts/kubernetes.ts';
import type { FakeKube } from './fake-kube.ts';

export const environmentId = '019a0000-0000-7000-8000-0000000000e1';

/** The installation's settings as tests have them: `*.apps.test` on plain HTTP. */
export const platformConfigObject: KubeObject = {
  apiVersion: 'platform.svc/v1',
  kind: 'PlatformConfig',
  metadata: { name: 'platform' },
  spec: {
    appsDomain: 'apps.test',
    cluster: 'c1',
    scheme: 'http',
    entryPoints: ['web'],
    runtimeImages: { node: 'registry.test/node:1' },
  },
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

/** Puts the settings and the project `shop` with the environment `prod` there. */
export function seedShop(kube: FakeKube): void {
  kube.seed(platformConfigObject, ...readyProject('shop'));
}
