import type { SettingsSeen } from '../../runtime/contracts/api/apps.ts';
import type { Stored } from '../../runtime/contracts/kubernetes.ts';
import type { App, AppSpec } from '../../runtime/contracts/resources/app.ts';
import { retryOnConflict } from '../../runtime/api/retry-on-conflict.ts';
import { checkUnchanged } from '../../runtime/api/seen.ts';
import { securityToView } from '../../runtime/api/security-settings.ts';
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

/**
 * As {@link patchApp}, but only while these settings are what the caller saw.
 * @param find reads the app again for each attempt @throws Problem `conflict` that names the settings that are others now
 */
export function patchSeenApp(
  kube: KubeClient,
  find: () => Promise<Stored<App>>,
  spec: AppChange,
  seen: SettingsSeen,
): Promise<Stored<App>> {
  return retryOnConflict(find, async (app) => {
    checkSeen(app, seen);
    return patchApp(kube, app, spec, 'unchanged');
  });
}

/** @throws Problem `conflict` */
function checkSeen({ metadata: { name }, spec }: Stored<App>, seen: SettingsSeen): void {
  const { port, replicas, healthPath = null, releaseCommand = null, memory = null, cpu = null } = spec;
  const { volumes = [], autoRollback = true } = spec;
  const security = securityToView(spec.security);
  const now = { port, replicas, healthPath, releaseCommand, memory, cpu, volumes, autoRollback, security };
  checkUnchanged(seen, now, { what: `the app "${name}"`, command: `svc app show ${name}` });
}
