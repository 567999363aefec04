import { gitLengths, gitPatterns } from '../../runtime/domain/git-source.ts';
import { publicKeyMax, publicKeyPattern } from '../../runtime/domain/ssh-keys.ts';
import type { StructuralSchema } from './structural-schema.ts';

/**
 * Gives the parts of a git source their grammar, for objects that do not come through the management API: nothing that a
 * program or a shell could take for something else, and no password.
 */
export function refineGitSource(schema: StructuralSchema): void {
  const { url, branch, path, dockerfile, commit, hostKeys } = schema.properties ?? {};
  const parts = [
    [url, 'url'],
    [branch, 'branch'],
    [path, 'path'],
    [dockerfile, 'path'],
    [commit, 'commit'],
  ] as const;
  if (hostKeys?.items) Object.assign(hostKeys.items, { maxLength: publicKeyMax, pattern: publicKeyPattern });
  for (const [part, rule] of parts) {
    if (part) Object.assign(part, { maxLength: gitLengths[rule], pattern: gitPatterns[rule] });
  }
}
