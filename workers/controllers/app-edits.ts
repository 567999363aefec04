import { releaseImage } from '../../infra/manifests/app.ts';
import type { Stored } from '../../runtime/contracts/kubernetes.ts';
import type { App, Release } from '../../runtime/contracts/resources/app.ts';
import { isOfRelease } from '../../runtime/domain/labels.ts';
import type { Deployment } from './app-release.ts';

/** An image that somebody put in by hand, past the history. */
export interface ImageEdit {
  image: string;
  /** The field, as a person would name it. */
  where: 'spec.image' | 'spec.release.image' | 'Deployment';
  /** The same each time that this very edit is seen, and another for every other one. */
  key: string;
}

/**
 * The edit of an app's image that was not recorded yet (decision 0014). The App's own image is compared with the one that
 * was last seen there, the release's with the one that its revision was seen with, the Deployment's with the release's.
 * None before the first release, which takes the App's image. Pure.
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

/** A release with the image of its revision, whatever was put in its place. Pure. */
export function recordedRelease({ status }: Pick<App, 'status'>, release: Release): Release {
  const before = status?.release;
  if (before?.image === undefined || before.generation !== release.generation) return release;
  return before.deploymentId === release.deploymentId ? { ...release, image: before.image } : release;
}

/** What a Deployment runs as this very release; of another one, it is about to be replaced. */
function imageOf({ spec }: Stored<Deployment>, generation: number): string | undefined {
  const { metadata, spec: pod } = spec.template;
  if (!isOfRelease(metadata, generation)) return undefined;
  return pod?.containers?.find(({ name }) => name === 'app')?.image;
}
