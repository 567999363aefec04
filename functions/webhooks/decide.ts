import { checkCommit, gitSourceConfigured } from '../../runtime/domain/git-source.ts';
import {
  checkImageProject,
  imageNotAllowed,
  isSameRepository,
  type BuildRegistry,
} from '../../runtime/domain/built-image.ts';
import { checkImage } from '../../runtime/domain/image.ts';
import { Problem } from '../../runtime/domain/problem.ts';
import type { EventCommit, PushedImage, PushedRef, WebhookEvent } from './event.ts';
import { canonicalRepository, isAttachment, splitImage, tagMatches } from './repository.ts';

/** The app and the webhook settings that a decision is based on. */
export interface Target {
  app: string;
  project: string;
  namespace: string;
  /** Where builds push images; undefined when the installation builds nothing. */
  builds?: BuildRegistry | undefined;
  /** The image of the app's last deployment; null when it has none yet. */
  image: string | null;
  /** The branch of its git source; undefined when it has none. */
  gitBranch: string | undefined;
  /** The webhook's filters. */
  branch: string | null;
  tags: string | null;
}

/** The outcome of an event. */
export type Decision =
  | ({ verdict: 'deploy'; image?: string | undefined; digest?: string | undefined } & EventCommit)
  /** Recorded in the app's history as a skipped deployment. */
  | ({ verdict: 'skip'; reason: string } & EventCommit)
  | { verdict: 'ignore'; reason: string };

/** The markers in a commit message that skip a build, as in common CI systems. */
const skipMarker = /\[(skip (ci|svc)|(ci|svc) skip)\]/i;
const imageDigest = /^sha256:[0-9a-f]{64}$/;

/**
 * Decides what an event does to an app. Pure.
 * @throws Problem `git_source_configured` for an image when the app has a git source, `image_not_allowed` for one that was
 * built for another environment, `invalid_request`, `invalid_value`
 */
export function decide(event: WebhookEvent, target: Target): Decision {
  if (event.kind === 'nothing') return { verdict: 'ignore', reason: event.reason };
  if (event.kind === 'push') return decidePush(event.refs, target);
  if (event.kind === 'images') return decideImages(event.images, target);
  const { kind: _kind, image, commit, ...details } = event;
  if (image !== undefined) {
    refuseImage(target);
    checkImage(image);
    const { tag = '' } = splitImage(image);
    if (target.tags !== null && !tagMatches(tag, target.tags)) return ignoredTag(tag, target.tags);
    return { verdict: 'deploy', image: usableImage(image, target), commit, ...details };
  }
  if (target.gitBranch === undefined) {
    throw new Problem('invalid_request', `The app "${target.app}" runs an image. Send {"image": "<name>:<tag>"}.`);
  }
  if (commit === undefined) {
    throw new Problem('invalid_request', `The app "${target.app}" is built from git. Send {"commit": "<hash>"}.`);
  }
  return { verdict: 'deploy', commit: checkCommit(commit.toLowerCase()), ...details };
}

/** An image of another environment is usable after a promotion brought its repository into the app's history. */
function usableImage(image: string, { image: current, builds, ...use }: Target): string {
  checkImage(image);
  const build = checkImageProject(image, use, builds);
  if (build && (current === null || !isSameRepository(current, image))) throw imageNotAllowed(image);
  return image;
}

function refuseImage({ app, gitBranch }: Target): void {
  if (gitBranch !== undefined) throw gitSourceConfigured(app);
}

function decidePush(refs: readonly PushedRef[], target: Target): Decision {
  const filter = target.branch ?? target.gitBranch;
  const pushed = refs.find(
    ({ branch, deleted }) => branch !== undefined && !deleted && (filter === undefined || branch === filter),
  );
  if (!pushed) return { verdict: 'ignore', reason: ignoredPush(refs, filter) };
  const { commit, commitMessage, commitAuthor, branch } = pushed;
  const details = { commit, commitMessage, commitAuthor, branch };
  const marker = skipMarker.exec(commitMessage ?? '')?.[0];
  if (marker !== undefined) {
    return { verdict: 'skip', reason: `The commit message contains ${marker.toLowerCase()}.`, ...details };
  }
  if (target.gitBranch === undefined) {
    const reason = `The app runs an image, so a push deploys nothing. Send the image from CI, or set a git source: \`svc app git set ${target.app}\`.`;
    return { verdict: 'skip', reason, ...details };
  }
  return { verdict: 'deploy', ...details, commit: checkCommit((commit ?? '').toLowerCase()) };
}

/** Why no ref of a push deploys. */
function ignoredPush(refs: readonly PushedRef[], filter: string | undefined): string {
  const [first] = refs;
  if (!first) return 'Nothing was pushed.';
  if (first.deleted) return `${refPhrase(first)} was deleted.`;
  if (first.branch === undefined) return `${refPhrase(first)} was pushed; only branches deploy.`;
  return `${refPhrase(first)} was pushed; the webhook deploys the branch "${filter}".`;
}

function refPhrase({ branch, otherRef = '' }: PushedRef): string {
  if (branch !== undefined) return `The branch "${branch}"`;
  return otherRef.startsWith('refs/tags/') ? `The tag "${otherRef.slice('refs/tags/'.length)}"` : `"${otherRef}"`;
}

function decideImages(pushed: readonly PushedImage[], target: Target): Decision {
  refuseImage(target);
  if (target.image === null) throw new Problem('not_ready', 'The app is being set up. Try again in a few seconds.');
  const { repository } = splitImage(target.image);
  const own = pushed.filter((image) => canonicalRepository(image.repository) === canonicalRepository(repository));
  const [first] = pushed;
  if (own.length === 0) {
    const reason = first
      ? `The image "${first.repository}" is not the image of the app ("${repository}").`
      : 'No image was pushed.';
    return { verdict: 'ignore', reason };
  }
  const tagged = own.filter(({ tag }) => tag !== '' && !tag.startsWith('sha256:'));
  if (tagged.length === 0) return { verdict: 'ignore', reason: 'The image was pushed without a tag.' };
  const images = tagged.filter(({ tag }) => !isAttachment(tag));
  if (images.length === 0)
    return { verdict: 'ignore', reason: 'A signature or another attachment of an image was pushed.' };
  const { tags } = target;
  // Registries list tags in the order in which they were set; the last one counts.
  const match = images.findLast(({ tag }) => tags === null || tagMatches(tag, tags));
  if (!match) return ignoredTag(images.at(-1)?.tag ?? '', tags ?? '');
  return {
    verdict: 'deploy',
    image: usableImage(`${repository}:${match.tag}`, target),
    ...(imageDigest.test(match.digest ?? '') && { digest: match.digest }),
  };
}

function ignoredTag(tag: string, tags: string): Decision {
  const subject = tag === '' ? 'An image without a tag' : `The tag "${tag}"`;
  return { verdict: 'ignore', reason: `${subject} does not match the webhook's tag filter "${tags}".` };
}
