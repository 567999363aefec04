import type { GitProblem } from '../domain/git-source.ts';

/** Why git failed, for people; nothing of the credentials is in it. */
export class GitError extends Error {
  override readonly name = 'GitError';
  readonly problem: GitProblem;

  constructor(message: string, problem: GitProblem = 'unreachable', options?: ErrorOptions) {
    super(message, options);
    this.problem = problem;
  }
}

/** What git was given to prove itself with. */
type Given = 'token' | 'deployKey' | undefined;

/**
 * What git, ssh and curl print when somebody has to do something, and what that is. Of several the first holds. The texts
 * are those of git 2.39 and OpenSSH 9.2 in English, which is how git is run.
 */
const explanations: readonly { says: RegExp; problem: GitProblem; message: (given: Given, said: string) => string }[] =
  [
    {
      says: /Host key verification failed/,
      problem: 'host_key',
      message: (_given, said) => {
        const fingerprint = /SHA256:[A-Za-z0-9+/]{43}/.exec(said)?.[0];
        const shown = fingerprint === undefined ? '' : ` (${fingerprint})`;
        return `The git server proves itself with another host key${shown} than the one that is kept for it. Unless its operator changed the key, somebody is in between. Once you know that the new key is right, give it with svc app git set --known-hosts, or have the one that the server shows next kept with --new-host-key.`;
      },
    },
    {
      says: /Permission denied \(/,
      problem: 'credentials',
      message: (given) =>
        given === 'deployKey'
          ? 'The git server refused the deploy key: add its public half to the repository (svc app git status shows it), or give another key with svc app git set --deploy-key-file.'
          : 'The git server wants a key: give one with svc app git set --deploy-key-file.',
    },
    {
      says: /Load key "[^"]*":/,
      problem: 'credentials',
      message: () => 'The deploy key cannot be read: give another one with svc app git set --deploy-key-file.',
    },
    {
      says: /Authentication failed for|could not read (?:Username|Password)|terminal prompts disabled|returned error: 40[13]/,
      problem: 'credentials',
      message: (given) =>
        given === 'token'
          ? 'The git server refused the token: it is wrong, has ended, or may not read this repository. Give another one with svc app git set --token-file.'
          : 'The git server wants a token, or has no such repository: check the address, or give a token with svc app git set --token-file.',
    },
    {
      says: /repository '[^']*' not found|Repository not found|does not appear to be a git repository/i,
      problem: 'repository',
      message: () =>
        'The git server has no such repository, or does not show it to this token or key: check the address.',
    },
    {
      says: /returned error: 30[12378]\b/,
      problem: 'repository',
      message: () =>
        'The git server sends to another address, and redirects are not followed: give the one that it leads to, which mostly ends in .git, with svc app git set --url.',
    },
  ];

/** The error for what a failed git printed; what is not known is told in its own last words. Pure. */
export function gitFailure(said: string, given: Given, code: number | null): GitError {
  const known = explanations.find(({ says }) => says.test(said));
  if (known) return new GitError(known.message(given, said), known.problem);
  return new GitError(lastWords(said) || `git ended with ${code ?? 'a signal'}.`);
}

/** The lines that say what was wrong, in one; those of progress left out. */
function lastWords(said: string): string {
  const lines = said.split(/[\r\n]+/).map((line) => line.trim());
  const telling = lines.filter((line) => /^(?:fatal|error|remote|ssh|Host key|Permission)/i.test(line));
  return (telling.length > 0 ? telling : lines.filter(Boolean)).slice(-3).join(' ').slice(-500);
}
