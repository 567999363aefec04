import { checkCommit, gitSourceConfigured } from '../../runtime/domain/git-source.ts';
import { checkImage } from '../../runtime/domain/image.ts';
import { Problem } from '../../runtime/domain/problem.ts';
import type { CommitNotice, Notice, PushedImage, PushedRef } from './notice.ts';
import { canonicalRepository, splitImage, tagFits } from './repository.ts';

/** What is known of an app and its webhook when a request is judged. */
export interface Target {
  app: string;
  /** The image that it runs, or is to run; null when it has none yet. */
  image: string | null;
  /** The branch of its git source; undefined when it runs images. */
  gitBranch: string | undefined;
  /** The filters of its webhook. */
  branch: string | null;
  tags: string | null;
}

/** What becomes of a request. */
export type Decision =
  | ({ verdict: 'deploy'; image?: string | undefined; digest?: string | undefined } & CommitNotice)
  /** To be recorded in the history: somebody may look for it there. */
  | ({ verdict: 'skip'; reason: string } & CommitNotice)
  | { verdict: 'ignore'; reason: string };

/** Where people ask that a commit is not built, in the words of common CI systems and in our own. */
const skipMarker = /\[(skip (ci|svc)|(ci|svc) skip)\]/i;
const imageDigest = /^sha256:[0-9a-f]{64}$/;

/**
 * Judges what a sender sent by what the app takes. Pure.
 * @throws Problem `git_source_configured` for an image of an app that is built of git, `invalid_request`, `invalid_value`
 */
export function decide(notice: Notice, target: Target): Decision {
  if (notice.kind === 'nothing') return { verdict: 'ignore', reason: notice.reason };
  if (notice.kind === 'push') return decidePush(notice.refs, target);
  if (notice.kind === 'images') return decideImages(notice.images, target);
  const { kind: _kind, image, commit, ...about } = notice;
  if (image !== undefined) {
    refuseImage(target);
    return { verdict: 'deploy', image: checkImage(image), commit, ...about };
  }
  if (target.gitBranch === undefined) {
    throw new Problem('invalid_request', `The app "${target.app}" runs an image: send {"image": "<name>:<tag>"}.`);
  }
  if (commit === undefined) {
    throw new Problem('invalid_request', `The app "${target.app}" is built of git: send {"commit": "<hash>"}.`);
  }
  return { verdict: 'deploy', commit: checkCommit(commit.toLowerCase()), ...about };
}

function refuseImage({ app, gitBranch }: Target): void {
  if (gitBranch !== undefined) throw gitSourceConfigured(app);
}

function decidePush(refs: readonly PushedRef[], target: Target): Decision {
  const wanted = target.branch ?? target.gitBranch;
  const pushed = refs.find(
    ({ branch, deleted }) => branch !== undefined && !deleted && (wanted === undefined || branch === wanted),
  );
  if (!pushed) return { verdict: 'ignore', reason: whyNone(refs, wanted) };
  const { commit, commitMessage, commitAuthor, branch } = pushed;
  const about = { commit, commitMessage, commitAuthor, branch };
  const marker = skipMarker.exec(commitMessage ?? '')?.[0];
  if (marker !== undefined) {
    return { verdict: 'skip', reason: `The commit's message says ${marker.toLowerCase()}.`, ...about };
  }
  if (target.gitBranch === undefined) {
    const reason = `The app runs an image, so a push deploys nothing: let your CI send the image, or run \`svc app git set ${target.app}\`.`;
    return { verdict: 'skip', reason, ...about };
  }
  return { verdict: 'deploy', ...about, commit: checkCommit((commit ?? '').toLowerCase()) };
}

function whyNone(refs: readonly PushedRef[], wanted: string | undefined): string {
  const [first] = refs;
  if (!first) return 'Nothing was pushed.';
  if (first.deleted) return `${what(first)} was deleted.`;
  if (first.branch === undefined) return `${what(first)} was pushed; only branches deploy.`;
  return `${what(first)} was pushed; the webhook deploys the branch "${wanted}".`;
}

function what({ branch, otherRef = '' }: PushedRef): string {
  if (branch !== undefined) return `The branch "${branch}"`;
  return otherRef.startsWith('refs/tags/') ? `The tag "${otherRef.slice('refs/tags/'.length)}"` : `"${otherRef}"`;
}

function decideImages(images: readonly PushedImage[], target: Target): Decision {
  refuseImage(target);
  if (target.image === null)
    throw new Problem('not_ready', 'The app is still being set up; try again in a few seconds.');
  const { repository } = splitImage(target.image);
  const own = images.filter((image) => canonicalRepository(image.repository) === canonicalRepository(repository));
  const [first] = images;
  if (own.length === 0) {
    const reason = first
      ? `The image "${first.repository}" is not the app's ("${repository}").`
      : 'No image was pushed.';
    return { verdict: 'ignore', reason };
  }
  const tagged = own.filter(({ tag }) => tag !== '' && !tag.startsWith('sha256:'));
  if (tagged.length === 0) return { verdict: 'ignore', reason: 'The image was pushed without a tag.' };
  const { tags } = target;
  // Of several the last: registries tell them in the order in which they were set.
  const chosen = tagged.findLast(({ tag }) => tags === null || tagFits(tag, tags));
  if (!chosen) {
    return { verdict: 'ignore', reason: `The tag "${tagged.at(-1)?.tag}" does not fit the webhook's "${tags}".` };
  }
  return {
    verdict: 'deploy',
    image: checkImage(`${repository}:${chosen.tag}`),
    ...(imageDigest.test(chosen.digest ?? '') && { digest: chosen.digest }),
  };
}
