import { releaseImage } from '../../infra/manifests/app.ts';
import type { Stored } from '../../runtime/contracts/kubernetes.ts';
import type { App, Release } from '../../runtime/contracts/resources/app.ts';
import { isOfRelease } from '../../runtime/domain/labels.ts';
import type { Deployment } from './deployment-object.ts';

/** An image that was changed in the cluster, outside the app's history. */
export interface ImageEdit {
  image: string;
  /** The changed field, for messages. */
  where: 'spec.image' | 'spec.release.image' | 'Deployment';
  /** Identifies the edit: the same for every reconcile that sees it, and different for any other edit. */
  key: string;
}

/**
 * The edit of an app's image that was not recorded yet (decision 0014). Compares the App's image with the last one seen
 * there, the release's with that of its revision, and the Deployment object's with the release's. Undefined before the
 * first release, which uses the App's image. Pure.
 */
export function imageEdit(app: App, deployment: Stored<Deployment> | undefined): ImageEdit | undefined {
  const { status } = app;
  const { image, release } = app.spec;
  if (!release) return undefined;
  if (status?.image !== undefined && image !== status.image) {
    return { image, where: 'spec.image', key: `kubectl:${status.imageEdits ?? 0}:${image}` };
  }
  const { generation } = release;
  const recorded = recordedRelease(app, release);
  if (recorded.image !== release.image) {
    return { image: release.image, where: 'spec.release.image', key: `kubectl:release-${generation}:${release.image}` };
  }
  const running = deployment && imageOf(deployment, generation);
  if (running === undefined || running === releaseImage(recorded)) return undefined;
  return { image: running, where: 'Deployment', key: `kubectl:deployment-${generation}:${running}` };
}

/** The release with the image of its revision, even if another one was written into it. Pure. */
export function recordedRelease({ status }: Pick<App, 'status'>, release: Release): Release {
  const before = status?.release;
  if (before?.image === undefined || before.generation !== release.generation) return release;
  return before.deploymentId === release.deploymentId ? { ...release, image: before.image } : release;
}

/** The image of a Deployment object of this release; undefined for another release, which is about to be replaced. */
function imageOf({ spec }: Stored<Deployment>, generation: number): string | undefined {
  const { metadata, spec: pod } = spec.template;
  if (!isOfRelease(metadata, generation)) return undefined;
  return pod?.containers?.find(({ name }) => name === 'app')?.image;
}
