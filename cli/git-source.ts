import type { Context } from './context.ts';
import { usageFailure } from './failure.ts';
import { text, toggle, type FlagValues } from './flags.ts';
import { readGivenFile } from './given-file.ts';
import { askHidden, readStdin } from './prompt.ts';

/** What a git source has beside its address. */
export const gitSourceFlags = {
  branch: text('<branch>', 'the branch whose commits are deployed (default main)'),
  path: text('<path>', 'the folder of the repository that is built (default its root)'),
  dockerfile: text('<path>', 'the Dockerfile, seen from that folder (default Dockerfile, if there is one)'),
  tokenFile: text('<file>', "a file with the git server's token; - reads it from standard input"),
  username: text('<name>', 'the user that goes with the token, where the server wants a certain one'),
  deployKeyFile: text('<file>', 'a file with the private key for ssh; - reads it from standard input'),
  askToken: toggle('ask for the token'),
  knownHosts: text('<file>', "known_hosts file with the ssh server's key (default: the first that it shows is kept)"),
};

type GitSourceFlags = FlagValues<typeof gitSourceFlags>;

/** The names of those of the flags that were given. */
export function givenGitFlags(flags: GitSourceFlags): string[] {
  const { branch, path, dockerfile, tokenFile, username, deployKeyFile, knownHosts, askToken } = flags;
  const files = { 'token-file': tokenFile, 'deploy-key-file': deployKeyFile, 'known-hosts': knownHosts };
  const given = { branch, path, dockerfile, username, ...files };
  const names = Object.entries(given).flatMap(([name, value]) => (value === undefined ? [] : [`--${name}`]));
  return askToken ? [...names, '--ask-token'] : names;
}

/** The source as the API takes it. @throws Failure for flags that do not go together, or a file that cannot be read */
export async function gitSourceOf(
  context: Context,
  url: string,
  flags: GitSourceFlags & { credentials?: boolean; newHostKey?: boolean },
): Promise<object> {
  const { branch, path, dockerfile, newHostKey = false } = flags;
  if (newHostKey && flags.knownHosts !== undefined)
    throw usageFailure('Give --known-hosts or --new-host-key, not both.');
  const knownHosts = newHostKey ? null : flags.knownHosts && readGivenFile(flags.knownHosts).toString();
  const credentials = await credentialsOf(context, flags);
  if (credentials && url.startsWith('http:')) {
    context.say('warning: over http:// anybody on the way can read the token');
  }
  return {
    url,
    ...(branch !== undefined && { branch }),
    ...(path !== undefined && { path }),
    ...(dockerfile !== undefined && { dockerfile }),
    ...(credentials !== undefined && { credentials }),
    ...(knownHosts !== undefined && { knownHosts }),
  };
}

/** A token or a key is read from a file, from standard input or from a person, never from a word of the command. */
async function credentialsOf(
  context: Context,
  flags: GitSourceFlags & { credentials?: boolean },
): Promise<object | null | undefined> {
  const given = [
    flags.tokenFile !== undefined,
    flags.deployKeyFile !== undefined,
    flags.askToken,
    flags.credentials === false,
  ];
  if (given.filter(Boolean).length > 1) {
    throw usageFailure('Give one of --token-file, --deploy-key-file, --ask-token and --no-credentials.');
  }
  if (flags.username !== undefined && flags.tokenFile === undefined && !flags.askToken) {
    throw usageFailure('--username goes with a token.', 'give --token-file or --ask-token');
  }
  if (flags.credentials === false) return null;
  if (flags.deployKeyFile !== undefined) return { deployKey: await secretIn(context, flags.deployKeyFile) };
  const token = flags.askToken
    ? await askHidden(context, 'Token of the git server', 'give --token-file')
    : flags.tokenFile === undefined
      ? undefined
      : (await secretIn(context, flags.tokenFile)).trim();
  if (token === undefined) return undefined;
  return { token, ...(flags.username !== undefined && { username: flags.username }) };
}

async function secretIn(context: Context, file: string): Promise<string> {
  const content = file === '-' ? await readStdin(context) : readGivenFile(file).toString();
  if (content.trim() === '') throw usageFailure(`There is nothing in ${file}.`);
  return content;
}
