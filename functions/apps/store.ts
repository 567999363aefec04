import type { Stored } from '../../runtime/contracts/kubernetes.ts';
import type { App, AppSpec } from '../../runtime/contracts/resources/app.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';

/** Settings to change; null removes. Of `security` the given parts change. */
export type AppChange = {
  [Field in Exclude<keyof AppSpec, 'image' | 'release' | 'security'>]?: AppSpec[Field] | null | undefined;
} & { security?: { headers?: boolean; csp?: string[] | null } | undefined };

/** Changes an app. @throws KubeError 404 when it went meanwhile, 409 when another one has its name now */
export async function patchApp(kube: KubeClient, app: Stored<App>, spec: AppChange): Promise<Stored<App>> {
  const { apiVersion, kind, metadata } = app;
  const { name, namespace = '', uid } = metadata;
  return kube.mergePatch<App>({ apiVersion, kind, namespace, name }, { metadata: { uid }, spec });
}
