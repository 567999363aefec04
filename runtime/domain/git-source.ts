import { Problem } from './problem.ts';
import { hostKeysMax, isPublicKey } from './ssh-keys.ts';

/** Where an app's image is built from. */
export interface GitSource {
  /** A repository over https, http or ssh (also as `user@host:path`), without credentials. */
  url: string;
  branch: string;
  /** The folder of the repository that is built; default its root. */
  path?: string | undefined;
  /** The Dockerfile, seen from that folder; default `Dockerfile`, and without one what `package.json` or `requirements.txt` say. */
  dockerfile?: string | undefined;
  /** Over ssh: the keys of the server (`ssh-keys.ts`); without them those that it first showed count. */
  hostKeys?: string[] | undefined;
}

/**
 * What is wrong with a git source that cannot be asked: `unreachable` may pass by itself, the others are for a person to
 * mend.
 */
export const gitProblems = ['credentials', 'host_key', 'repository', 'branch', 'address', 'unreachable'] as const;

export type GitProblem = (typeof gitProblems)[number];

/** The most that each part may be long, in characters. */
export const gitLengths = { url: 512, branch: 244, path: 400, commit: 64 } as const;

const host = String.raw`(?:[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?|\[[0-9A-Fa-f:.]+\])`;
const user = '[A-Za-z_][A-Za-z0-9_.-]*';

/**
 * The grammar of each part, as the management API and the custom resources check it alike. They are narrower than git's
 * own: nothing that git, ssh or a shell could take for an option, another protocol, a variable or a second command, and
 * no password. A branch also follows https://git-scm.com/docs/git-check-ref-format.
 */
export const gitPatterns = {
  url: `^(?:https?://${host}(?::[0-9]{1,5})?/[A-Za-z0-9._~/%+@-]+|ssh://(?:${user}@)?${host}(?::[0-9]{1,5})?/[A-Za-z0-9._~/%+@-]+|${user}@${host}:[A-Za-z0-9._~][A-Za-z0-9._~/%+@-]*)$`,
  branch: '^[A-Za-z0-9_][A-Za-z0-9_.+@=-]*(?:/[A-Za-z0-9_][A-Za-z0-9_.+@=-]*)*$',
  path: '^[A-Za-z0-9_.@+][A-Za-z0-9_.@+-]*(?:/[A-Za-z0-9_.@+][A-Za-z0-9_.@+-]*)*$',
  commit: '^(?:[0-9a-f]{7,40}|[0-9a-f]{64})$',
} as const;

const [urlShape, branchShape, pathShape, commitShape] = [
  new RegExp(gitPatterns.url),
  new RegExp(gitPatterns.branch),
  new RegExp(gitPatterns.path),
  new RegExp(gitPatterns.commit),
];

/** Whether a path has a part that leads elsewhere or into git's own folder. */
function leadsAstray(path: string): boolean {
  return path.split('/').some((part) => /^(?:\.+|\.git)$/i.test(part));
}

/** Whether this may be a commit's name: 7 to 40 hexadecimal digits, or all 64 of SHA-256. */
export function isCommit(text: string): boolean {
  return commitShape.test(text);
}

/** @throws Problem `invalid_value` */
export function checkCommit(commit: string, field = 'commit'): string {
  if (isCommit(commit)) return commit;
  throw refusal(field, `"${shown(commit)}" is no commit; give 7 to 40 hexadecimal digits in lower case.`);
}

/**
 * Checks the whole name of a branch that something is compared with: it may be any that git takes, but no pattern.
 * @throws Problem `invalid_value`
 */
export function checkBranchName(branch: string): string {
  // https://git-scm.com/docs/git-check-ref-format
  if (!/[\s\p{Cc}~^:?*[\\]|\.\.|@\{|\/\/|^[-/]|\/$|\.$/u.test(branch)) return branch;
  throw refusal('branch', `"${shown(branch)}" is no branch; give the whole name of one, such as main or release/2.`);
}

/**
 * Checks every part of a git source. The address is refused here when nothing about it could be right; whether it
 * answers, and to whom, shows when it is polled. @throws Problem `invalid_value` that names the part
 */
export function checkGitSource<Source extends GitSource>(source: Source): Source {
  const { url, branch, path, dockerfile } = source;
  if (url.length > gitLengths.url || !urlShape.test(url) || hasPassword(url) || !canBeRead(url)) {
    throw refusal(
      'url',
      hasPassword(url)
        ? 'The address has a user or password in it; give the address alone, and the token with --token-file.'
        : `"${shown(url)}" is no address of a repository; give one like https://git.example.com/shop/api.git or git@git.example.com:shop/api.git.`,
    );
  }
  if (
    branch.length > gitLengths.branch ||
    !branchShape.test(branch) ||
    /\.\.|@\{|\.lock(?:\/|$)|\.(?:\/|$)/.test(branch)
  ) {
    throw refusal('branch', `"${shown(branch)}" is no branch; give its name alone, such as main or release/2.`);
  }
  for (const [field, value] of [
    ['path', path],
    ['dockerfile', dockerfile],
  ] as const) {
    if (value === undefined || (value.length <= gitLengths.path && pathShape.test(value) && !leadsAstray(value)))
      continue;
    const example = field === 'path' ? 'services/api, or none for its root' : 'docker/Dockerfile';
    throw refusal(field, `"${shown(value)}" is no path within the repository; give one like ${example}.`);
  }
  const { hostKeys = [] } = source;
  if (hostKeys.length > hostKeysMax || !hostKeys.every(isPublicKey)) {
    throw refusal('hostKeys', 'A host key is no public key of ssh; give each as "<type> <base64>".');
  }
  return source;
}

/** Where a repository is, of an address that {@link checkGitSource} took. Pure. */
export function addressOfGit(url: string): { host: string; port: number; overSsh: boolean } {
  const short = /^[^/@]+@(\[[^\]]+\]|[^:/]+):/.exec(url)?.[1];
  const bare = (host: string) => host.replace(/^\[(.*)\]$/, '$1').toLowerCase();
  if (short !== undefined) return { host: bare(short), port: 22, overSsh: true };
  const { protocol, hostname, port } = new URL(url);
  const usual = protocol === 'https:' ? 443 : protocol === 'http:' ? 80 : 22;
  return { host: bare(hostname), port: port === '' ? usual : Number(port), overSsh: protocol === 'ssh:' };
}

/** What credentials were given for: the server and how it is spoken to. Pure. */
export function hostOfGit(url: string): string {
  const { host, port, overSsh } = addressOfGit(url);
  return `${overSsh ? 'ssh' : url.slice(0, url.indexOf(':'))}://${host}:${port}`;
}

/** Of http addresses any user counts: what stands there is a credential. Of ssh ones only a password does. */
function hasPassword(url: string): boolean {
  return /^https?:\/\/[^/]*@/i.test(url) || /^ssh:\/\/[^/@]*:[^/@]*@/i.test(url);
}

/** A port above 65535, or numbers that are no address, fit the pattern. */
function canBeRead(url: string): boolean {
  return !url.includes('://') || URL.canParse(url);
}

function shown(value: string): string {
  return value.slice(0, 100);
}

function refusal(field: string, message: string): Problem {
  return new Problem('invalid_value', message, { details: { field } });
}

/**
 * The refusal of an image for an app whose images are built (spec.md §4.3).
 * @param flags what a command about the app needs beside its name
 */
export function gitSourceConfigured(app: string, flags: readonly string[] = []): Problem {
  const remove = ['svc app git remove', app, ...flags].join(' ');
  return new Problem(
    'git_source_configured',
    `The images of the app "${app}" are built from its git source; deploy a commit, or remove the source first: ${remove}`,
  );
}
