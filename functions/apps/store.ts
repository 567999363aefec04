import type { Stored } from '../../runtime/contracts/kubernetes.ts';
import type { App, AppSpec } from '../../runtime/contracts/resources/app.ts';
import { Problem } from '../../runtime/domain/problem.ts';
import type { Variable } from '../../runtime/domain/variables.ts';
import { isKubeError, type KubeClient } from '../../runtime/kube/kube-client.ts';

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

/** Writers of one app that come between read and write. */
const maxRounds = 10;

/**
 * Changes an app's variables by what they are, however many do so at once.
 * @param find reads the app anew for each try @param change what it throws is thrown
 */
export async function changeVariables(
  kube: KubeClient,
  find: () => Promise<Stored<App>>,
  change: (app: Stored<App>) => Promise<Variable[]>,
): Promise<Stored<App>> {
  for (let round = 1; ; round++) {
    const app = await find();
    const env = await change(app);
    const { apiVersion, kind, metadata } = app;
    const { name, namespace = '', uid, resourceVersion } = metadata;
    try {
      return await kube.mergePatch<App>(
        { apiVersion, kind, namespace, name },
        { metadata: { uid, resourceVersion }, spec: { env: env.length === 0 ? null : env } },
      );
    } catch (error) {
      if (!isKubeError(error, 409)) throw error;
      if (round === maxRounds) {
        throw new Problem('conflict', `The app "${name}" is being changed by others; try again.`, { cause: error });
      }
    }
  }
}
