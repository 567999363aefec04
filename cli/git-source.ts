import type { Context } from './context.ts';
import { usageFailure } from './failure.ts';
import { text, toggle, type FlagValues } from './flags.ts';
import { readInputFile } from './input-file.ts';
import { askHidden, readStdin } from './prompt.ts';

/** The settings of a git source besides its URL. */
export const gitSourceFlags = {
  branch: text('<branch>', 'branch to deploy (default main)'),
  path: text('<path>', 'folder to build (default: the root of the repository)'),
  dockerfile: text('<path>', 'Dockerfile, relative to that folder (default Dockerfile, if it exists)'),
  tokenFile: text('<file>', "file with the git server's token; - for standard input"),
  username: text('<name>', 'user name for the token, if the server requires one'),
  deployKeyFile: text('<file>', 'file with the private SSH key; - for standard input'),
  askToken: toggle('prompt for the token'),
  knownHosts: text('<file>', 'known_hosts file (default: trust the key of the first connection)'),
};

type GitSourceFlags = FlagValues<typeof gitSourceFlags>;

/** The names of the flags that are used. */
export function usedGitFlags(flags: GitSourceFlags): string[] {
  const { branch, path, dockerfile, tokenFile, username, deployKeyFile, knownHosts, askToken } = flags;
  const files = { 'token-file': tokenFile, 'deploy-key-file': deployKeyFile, 'known-hosts': knownHosts };
  const values = { branch, path, dockerfile, username, ...files };
  const names = Object.entries(values).flatMap(([name, value]) => (value === undefined ? [] : [`--${name}`]));
  return askToken ? [...names, '--ask-token'] : names;
}

/** The git source for a request. @throws Failure (usage) for conflicting flags or an unreadable file */
export async function gitSourceBody(
  context: Context,
  url: string,
  flags: GitSourceFlags & { credentials?: boolean; newHostKey?: boolean },
): Promise<object> {
  const { branch, path, dockerfile, newHostKey = false } = flags;
  if (newHostKey && flags.knownHosts !== undefined) throw usageFailure('Use either --known-hosts or --new-host-key.');
  const knownHosts = newHostKey ? null : flags.knownHosts && readInputFile(flags.knownHosts).toString();
  const credentials = await credentialsOf(context, flags);
  if (credentials && url.startsWith('http:')) {
    context.say('warning: http:// sends the token unencrypted');
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

/** Reads a token or key from a file, standard input or a prompt; arguments would be visible to other users. */
async function credentialsOf(
  context: Context,
  flags: GitSourceFlags & { credentials?: boolean },
): Promise<object | null | undefined> {
  const sources = [
    flags.tokenFile !== undefined,
    flags.deployKeyFile !== undefined,
    flags.askToken,
    flags.credentials === false,
  ];
  if (sources.filter(Boolean).length > 1) {
    throw usageFailure('Use only one of --token-file, --deploy-key-file, --ask-token and --no-credentials.');
  }
  if (flags.username !== undefined && flags.tokenFile === undefined && !flags.askToken) {
    throw usageFailure('--username requires a token.', 'use --token-file or --ask-token');
  }
  if (flags.credentials === false) return null;
  if (flags.deployKeyFile !== undefined) return { deployKey: await secretIn(context, flags.deployKeyFile) };
  const token = flags.askToken
    ? await askHidden(context, 'Token of the git server', 'use --token-file')
    : flags.tokenFile === undefined
      ? undefined
      : (await secretIn(context, flags.tokenFile)).trim();
  if (token === undefined) return undefined;
  return { token, ...(flags.username !== undefined && { username: flags.username }) };
}

async function secretIn(context: Context, file: string): Promise<string> {
  const content = file === '-' ? await readStdin(context) : readInputFile(file).toString();
  if (content.trim() === '') throw usageFailure(`${file} is empty.`);
  return content;
}
