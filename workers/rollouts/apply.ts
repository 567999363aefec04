import { lingerSeconds } from '../../infra/manifests/app.ts';
import type { Stored } from '../../runtime/contracts/kubernetes.ts';
import type { App, AppSpec, Release } from '../../runtime/contracts/resources/app.ts';
import { withSettings } from '../../runtime/contracts/resources/app-settings.ts';
import { kinds } from '../../runtime/contracts/resources/kinds.ts';
import { checkImageProject } from '../../runtime/domain/built-image.ts';
import { withEnvironmentSecret } from '../../runtime/workloads/environment.ts';
import { readSettingsIfAny } from '../../runtime/workloads/platform-config.ts';
import { isLiving } from '../../runtime/workloads/objects.ts';
import { isKubeError, type KubeClient } from '../../runtime/kube/kube-client.ts';
import { ensureEnvironment } from './environment.ts';
import type { Rollout } from './store.ts';

interface Dependencies {
  kube: Pick<KubeClient, 'get' | 'create' | 'replace'>;
  /** Called with the name of each step, at which tests kill the process. */
  failpoint: (name: string) => void;
}

/** Attempts to write the App, which conflict with other writers, mostly the controller. */
const applyAttempts = 5;

/** Whether the App has the rollout's release. Pure. */
export function isApplied(rollout: Rollout, { spec }: Stored<App>): boolean {
  return spec.release?.generation === rollout.revision && spec.release.deploymentId === rollout.id;
}

/**
 * Writes the release unless the App has it or a newer one. @param read the App as it was read
 * @returns the latest App @throws Problem when a variable is invalid, or the image belongs to another project
 */
export async function applyRelease(
  { kube, failpoint }: Dependencies,
  rollout: Rollout,
  read: Stored<App>,
): Promise<Stored<App> | undefined> {
  let app: Stored<App> | undefined = read;
  for (let attempt = 1; ; attempt++) {
    if (!app || !isLiving(app, rollout.workloadId) || (app.spec.release?.generation ?? 0) >= rollout.revision)
      return app;
    checkImageProject(rollout.image, rollout, (await readSettingsIfAny(kube))?.builds);
    const environment = await ensureEnvironment(kube, app, rollout);
    failpoint('rollout.before-apply');
    try {
      const applied = await kube.replace<App>(withRelease(app, rollout, environment));
      failpoint('rollout.applied');
      return applied;
    } catch (error) {
      const retry = (isKubeError(error, 409) && attempt < applyAttempts) || isKubeError(error, 404);
      if (!retry) throw error;
      app = await kube.get<App>(kinds.App, rollout.name, rollout.namespace);
    }
  }
}

/**
 * The App with the release and the name of its environment Secret, which is also added to the App's annotation, and with
 * the settings that a rollback restores. All are written at once, so that they are applied together or not at all.
 */
function withRelease(app: Stored<App>, rollout: Rollout, envSecret: string | undefined): Stored<App> {
  const { restores, keptSettings } = rollout;
  const spec = restores === 'config' && keptSettings ? withSettings(app.spec, keptSettings) : app.spec;
  const release = releaseOf(rollout, spec.releaseCommand);
  if (envSecret === undefined) return { ...app, spec: { ...spec, release } };
  const annotations = withEnvironmentSecret(app, envSecret);
  return { ...app, metadata: { ...app.metadata, annotations }, spec: { ...spec, release: { ...release, envSecret } } };
}

/** The command belongs to what is new: a rollback or restart runs what ran before. */
function releaseOf({ revision, id, image, digest, trigger }: Rollout, command: AppSpec['releaseCommand']): Release {
  return {
    generation: revision,
    deploymentId: id,
    image,
    ...(digest !== null && { digest }),
    ...(command && trigger !== 'rollback' && trigger !== 'restart' && { command }),
    lingerSeconds,
  };
}
