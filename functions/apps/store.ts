import type { Stored } from '../../runtime/contracts/kubernetes.ts';
import type { App, AppSpec } from '../../runtime/contracts/resources/app.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';

/** Settings to change; null removes one. `security` changes only the fields that it contains. */
export type AppChange = {
  [Field in Exclude<keyof AppSpec, 'image' | 'release' | 'security'>]?: AppSpec[Field] | null | undefined;
} & { security?: { headers?: boolean; csp?: string[] | null } | undefined };

/**
 * Changes an app.
 * @param onlyIf whether it must not have changed since it was read
 * @throws KubeError 404 when it was deleted, 409 when it was recreated under its name, or has changed
 */
export async function patchApp(
  kube: KubeClient,
  app: Stored<App>,
  spec: AppChange,
  onlyIf?: 'unchanged',
): Promise<Stored<App>> {
  const { apiVersion, kind, metadata } = app;
  const { name, namespace = '', uid, resourceVersion } = metadata;
  const precondition = { uid, ...(onlyIf && { resourceVersion }) };
  return kube.mergePatch<App>({ apiVersion, kind, namespace, name }, { metadata: precondition, spec });
}
