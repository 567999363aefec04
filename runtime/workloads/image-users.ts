import { isPodEnded, type Pod } from '../contracts/pod.ts';
import type { App } from '../contracts/resources/app.ts';
import type { FunctionResource } from '../contracts/resources/function.ts';
import type { JobResource } from '../contracts/resources/job.ts';
import { kinds } from '../contracts/resources/kinds.ts';
import { isSameRepository } from '../domain/built-image.ts';
import type { KubeClient } from '../kube/kube-client.ts';

/** An image by its manifest and its tags. */
export interface ImageIdentity {
  /** The name without the tag. */
  repository: string;
  digest: string;
  /** Full names with a tag. */
  names: readonly string[];
}

/** What uses an image. */
export interface ImageUser {
  /** Such as `job migrate in shop-prod`. */
  name: string;
  /** Whether it is a pod that is being stopped, and so uses the image only for a while. */
  isStopping: boolean;
}

/**
 * Finds a workload or a pod that uses an image, in these namespaces: apps, functions and jobs, running or not, and pods,
 * which may be of an older release. Pods that are being stopped come last. @returns undefined for none
 */
export async function findImageUser(
  kube: Pick<KubeClient, 'list'>,
  namespaces: readonly string[],
  image: ImageIdentity,
): Promise<ImageUser | undefined> {
  let stopping: ImageUser | undefined;
  for (const namespace of namespaces) {
    const [apps, functions, jobs, pods] = await Promise.all([
      kube.list<App>(kinds.App, { namespace }),
      kube.list<FunctionResource>(kinds.Function, { namespace }),
      kube.list<JobResource>(kinds.Job, { namespace }),
      kube.list<Pod>(kinds.Pod, { namespace }),
    ]);
    const users: { kind: string; name: string; images: (string | undefined)[]; isStopping?: boolean }[] = [
      ...apps.items.map((app) => ({ kind: 'app', name: app.metadata.name, images: imagesOfApp(app) })),
      ...functions.items.map(({ metadata, spec }) => ({ kind: 'function', name: metadata.name, images: [spec.image] })),
      ...jobs.items.map(({ metadata, spec }) => ({ kind: 'job', name: metadata.name, images: [spec.image] })),
      ...pods.items.map((pod) => ({
        kind: 'pod',
        name: pod.metadata.name,
        images: imagesOfPod(pod),
        isStopping: pod.metadata.deletionTimestamp !== undefined,
      })),
    ];
    for (const { kind, name, images, isStopping = false } of users) {
      if (!images.some((each) => each !== undefined && isSameImage(each, image))) continue;
      const user = { name: `${kind} ${name} in ${namespace}`, isStopping };
      if (!isStopping) return user;
      stopping ??= user;
    }
  }
  return stopping;
}

/** The image of the release, or the one that the first release will have. */
function imagesOfApp({ spec: { image, release } }: App): string[] {
  if (!release) return [image];
  return [release.digest === undefined ? release.image : `${release.image.split('@')[0]}@${release.digest}`];
}

/** The images of a pod that runs or will. */
function imagesOfPod(pod: Pod): (string | undefined)[] {
  if (isPodEnded(pod)) return [];
  return [...(pod.spec.initContainers ?? []), ...pod.spec.containers].map(({ image }) => image);
}

/** Whether a name means the image, whatever the spelling of its host. Pure. */
function isSameImage(name: string, { repository, digest, names }: ImageIdentity): boolean {
  if (!isSameRepository(name, repository)) return false;
  const [tagged = '', pinned] = name.split('@');
  if (pinned !== undefined) return pinned === digest;
  const tag = tagOf(tagged);
  return names.some((each) => tagOf(each) === tag);
}

function tagOf(name: string): string {
  const last = name.slice(name.lastIndexOf('/') + 1);
  return last.includes(':') ? last.slice(last.indexOf(':') + 1) : 'latest';
}
