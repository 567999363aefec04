import type { GitProblem } from '../domain/git-source.ts';

/** Why git failed. The message is shown to users and contains no credentials. */
export class GitError extends Error {
  override readonly name = 'GitError';
  readonly problem: GitProblem;

  constructor(message: string, problem: GitProblem = 'unreachable', options?: ErrorOptions) {
    super(message, options);
    this.problem = problem;
  }
}

/** The kind of credentials that git used. */
type CredentialKind = 'token' | 'deployKey' | undefined;

interface Explanation {
  output: RegExp;
  problem: GitProblem;
  message: (kind: CredentialKind, output: string) => string;
}

/**
 * Errors of git, ssh and curl that a user can fix, and how; the first match applies. The texts are those of git 2.39 and
 * OpenSSH 9.2 in English, the language in which git is run.
 */
const explanations: readonly Explanation[] = [
  {
    output: /Host key verification failed/,
    problem: 'host_key',
    message: (_kind, output) => {
      const fingerprint = /SHA256:[A-Za-z0-9+/]{43}/.exec(output)?.[0];
      const suffix = fingerprint === undefined ? '' : ` (${fingerprint})`;
      return `The host key of the git server changed${suffix}. This may be a man-in-the-middle attack. If the operator of the server confirms the new key, set it with svc app git set --known-hosts, or accept the key that the server presents next with --new-host-key.`;
    },
  },
  {
    output: /Permission denied \(/,
    problem: 'credentials',
    message: (kind) =>
      kind === 'deployKey'
        ? 'The git server refused the deploy key. Add its public key to the repository (svc app git status shows it), or set another key with svc app git set --deploy-key-file.'
        : 'The git server requires an SSH key. Set one with svc app git set --deploy-key-file.',
  },
  {
    output: /Load key "[^"]*":/,
    problem: 'credentials',
    message: () => 'The deploy key is not a valid private key. Set another one with svc app git set --deploy-key-file.',
  },
  {
    output:
      /Authentication failed for|could not read (?:Username|Password)|terminal prompts disabled|returned error: 40[13]/,
    problem: 'credentials',
    message: (kind) =>
      kind === 'token'
        ? 'The git server refused the token: it is wrong, has expired, or has no read access to this repository. Set another one with svc app git set --token-file.'
        : 'The repository does not exist or is private. Check the URL, or set a token with svc app git set --token-file.',
  },
  {
    output: /repository '[^']*' not found|Repository not found|does not appear to be a git repository/i,
    problem: 'repository',
    message: () => 'The repository does not exist, or this token or key has no access to it. Check the URL.',
  },
  {
    output: /Out of memory|memory exhausted|Cannot allocate memory/i,
    problem: 'repository',
    message: () =>
      'The git server sent more branches than fit into the memory of a poll. Delete branches of the repository, or check the URL.',
  },
  {
    output: /returned error: 30[12378]\b/,
    problem: 'repository',
    message: () =>
      'The git server redirects to another URL, and redirects are not followed. Set the final URL, which usually ends in .git, with svc app git set --url.',
  },
];

/** The error for the output of a failed git: an explanation, or else the last lines of the output. Pure. */
export function gitFailure(output: string, kind: CredentialKind, code: number | null): GitError {
  const explanation = explanations.find((entry) => entry.output.test(output));
  if (explanation) return new GitError(explanation.message(kind, output), explanation.problem);
  return new GitError(lastErrors(output) || `git exited with ${code ?? 'a signal'}.`);
}

/** The last lines with errors, joined; without progress output. */
function lastErrors(output: string): string {
  const lines = output.split(/[\r\n]+/).map((line) => line.trim());
  const errors = lines.filter((line) => /^(?:fatal|error|remote|ssh|Host key|Permission)/i.test(line));
  return (errors.length > 0 ? errors : lines.filter(Boolean)).slice(-3).join(' ').slice(-500);
}
