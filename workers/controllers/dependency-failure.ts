import { dependenciesContainer } from '../../infra/manifests/function-dependencies.ts';
import type { Pod } from '../../runtime/contracts/pod.ts';

const messageMax = 500;
/** Of each attempt pip says more than half of what is shown in all; the last one tells why nothing was found then. */
const attempts = /^WARNING: Retrying /;

/** Why the dependencies of a pod could not be installed, in the installer's own last lines; undefined while they may be. */
export function dependencyFailure({ status }: Pod): string | undefined {
  const step = status?.initContainerStatuses?.find(({ name }) => name === dependenciesContainer);
  // Between two attempts the kubelet says "running" for a moment: the last end still counts.
  const ended = step?.state?.terminated ?? step?.lastState?.terminated;
  if (!ended || ended.exitCode === 0) return undefined;
  if (ended.reason === 'OOMKilled')
    return 'The dependencies cannot be installed: that takes more memory than there is.';
  const all = (ended.message ?? '').split('\n').filter((line) => line.trim() !== '');
  const lastAttempt = all.findLastIndex((line) => attempts.test(line));
  const lines = all.filter((line, index) => index === lastAttempt || !attempts.test(line));
  const said = lines.length === 0 ? `the installer ended with ${ended.exitCode}` : lines.slice(-8).join('; ');
  return `The dependencies cannot be installed: ${said}`.slice(0, messageMax);
}
