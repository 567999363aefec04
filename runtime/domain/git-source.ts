import { Problem } from './problem.ts';
import { hostKeysMax, isPublicKey } from './public-key.ts';

/** The source of an app's images. */
export interface GitSource {
  /** A repository over https, http or ssh (also as `user@host:path`), without credentials. */
  url: string;
  branch: string;
  /** The folder of the repository that is built; default its root. */
  path?: string | undefined;
  /** The Dockerfile, relative to that folder; default `Dockerfile`, or if there is none, `package.json` or `requirements.txt`. */
  dockerfile?: string | undefined;
  /** For ssh: the accepted host keys (`public-key.ts`); default: those that the server presents first. */
  hostKeys?: string[] | undefined;
}

/**
 * Why a git source cannot be polled: `unreachable` may be temporary, the others need a change of the settings or the
 * server.
 */
export const gitProblems = ['credentials', 'host_key', 'repository', 'branch', 'address', 'unreachable'] as const;

export type GitProblem = (typeof gitProblems)[number];

/** Maximum length of each field, in characters. */
export const gitLengths = { url: 512, branch: 244, path: 400, commit: 64 } as const;

const host = String.raw`(?:[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?|\[[0-9A-Fa-f:.]+\])`;
const user = '[A-Za-z_][A-Za-z0-9_.-]*';

/**
 * The pattern of each field, for the management API and the custom resources alike. Stricter than git's own rules: the
 * text cannot be taken for an option, another protocol, a variable or a second command by git, ssh or a shell, and
 * contains no password. A branch also follows https://git-scm.com/docs/git-check-ref-format.
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

/** Whether a path leaves the repository or leads into git's own folder. */
function leadsAstray(path: string): boolean {
  return path.split('/').some((part) => /^(?:\.+|\.git)$/i.test(part));
}

/** Whether a text can be a commit: 7 to 40 hexadecimal digits, or 64 for SHA-256. */
export function isCommit(text: string): boolean {
  return commitShape.test(text);
}

/** @throws Problem `invalid_value` */
export function checkCommit(commit: string, field = 'commit'): string {
  if (isCommit(commit)) return commit;
  throw refusal(field, `"${excerpt(commit)}" is not a commit; use 7 to 40 lower-case hexadecimal digits.`);
}

/**
 * Checks the name of a branch for a comparison: any name that git allows, but no pattern.
 * @throws Problem `invalid_value`
 */
export function checkBranchName(branch: string): string {
  // https://git-scm.com/docs/git-check-ref-format
  if (!/[\s\p{Cc}~^:?*[\\]|\.\.|@\{|\/\/|^[-/]|\/$|\.$/u.test(branch)) return branch;
  throw refusal('branch', `"${excerpt(branch)}" is not a branch name; use a full name, such as main or release/2.`);
}

/**
 * Checks the fields of a git source. Whether the server can be reached is only known after a poll.
 * @throws Problem `invalid_value` that names the field
 */
export function checkGitSource<Source extends GitSource>(source: Source): Source {
  const { url, branch, path, dockerfile } = source;
  if (url.length > gitLengths.url || !urlShape.test(url) || hasPassword(url) || !canBeRead(url)) {
    throw refusal(
      'url',
      hasPassword(url)
        ? 'The URL contains a user name or password; remove them and pass the token with --token-file.'
        : `"${excerpt(url)}" is not a repository URL; use one like https://git.example.com/shop/api.git or git@git.example.com:shop/api.git.`,
    );
  }
  if (
    branch.length > gitLengths.branch ||
    !branchShape.test(branch) ||
    /\.\.|@\{|\.lock(?:\/|$)|\.(?:\/|$)/.test(branch)
  ) {
    throw refusal('branch', `"${excerpt(branch)}" is not a branch name; use a name such as main or release/2.`);
  }
  for (const [field, value] of [
    ['path', path],
    ['dockerfile', dockerfile],
  ] as const) {
    if (value !== undefined) checkBuildPath(field, value);
  }
  const { hostKeys = [] } = source;
  if (hostKeys.length > hostKeysMax || !hostKeys.every(isPublicKey)) {
    throw refusal('hostKeys', 'A host key is not an ssh public key; use the form "<type> <base64>".');
  }
  return source;
}

/** Checks a path in a source. @throws Problem `invalid_value` that names the field */
export function checkBuildPath(field: 'path' | 'dockerfile', value: string): void {
  if (value.length <= gitLengths.path && pathShape.test(value) && !leadsAstray(value)) return;
  const example = field === 'path' ? 'services/api, or none for the root' : 'docker/Dockerfile';
  throw refusal(field, `"${excerpt(value)}" is not a path in the source; use one like ${example}.`);
}

/** The server of a repository URL that passed {@link checkGitSource}. Pure. */
export function addressOfGit(url: string): { host: string; port: number; overSsh: boolean } {
  const short = /^[^/@]+@(\[[^\]]+\]|[^:/]+):/.exec(url)?.[1];
  const bare = (host: string) => host.replace(/^\[(.*)\]$/, '$1').toLowerCase();
  if (short !== undefined) return { host: bare(short), port: 22, overSsh: true };
  const { protocol, hostname, port } = new URL(url);
  const usual = protocol === 'https:' ? 443 : protocol === 'http:' ? 80 : 22;
  return { host: bare(hostname), port: port === '' ? usual : Number(port), overSsh: protocol === 'ssh:' };
}

/** What credentials belong to: protocol, host and port. Pure. */
export function hostOfGit(url: string): string {
  const { host, port, overSsh } = addressOfGit(url);
  return `${overSsh ? 'ssh' : url.slice(0, url.indexOf(':'))}://${host}:${port}`;
}

/** Whether a URL contains credentials: any user name in an http URL, a password in an ssh URL. */
function hasPassword(url: string): boolean {
  return /^https?:\/\/[^/]*@/i.test(url) || /^ssh:\/\/[^/@:]*:[^/@]*@/i.test(url);
}

/** The pattern also matches ports above 65535 and invalid IP addresses. */
function canBeRead(url: string): boolean {
  return !url.includes('://') || URL.canParse(url);
}

function excerpt(value: string): string {
  return value.slice(0, 100);
}

function refusal(field: string, message: string): Problem {
  return new Problem('invalid_value', message, { details: { field } });
}

/**
 * The problem of an image for an app whose images are built from git.
 * @param flags the flags that a command for the app needs besides its name
 */
export function gitSourceConfigured(app: string, flags: readonly string[] = []): Problem {
  const remove = ['svc app git remove', app, ...flags].join(' ');
  return new Problem(
    'git_source_configured',
    `The images of the app "${app}" are built from its git source; deploy a commit, or remove the source first: ${remove}`,
  );
}
