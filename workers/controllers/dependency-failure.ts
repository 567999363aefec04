import { dependenciesContainer, type Pod } from '../../runtime/contracts/pod.ts';

const messageMax = 500;
/**
 * pip's messages for each attempt, which would fill half of the text; the last line explains why nothing was found.
 */
const attempts = /^WARNING: Retrying /;
/** How npm and pip report a certificate of an unknown authority, such as that of a proxy that inspects TLS. */
const untrusted = /SELF_SIGNED_CERT|UNABLE_TO_(GET_ISSUER_CERT|VERIFY_LEAF_SIGNATURE)|CERTIFICATE_VERIFY_FAILED/;

export const untrustedAdvice =
  'If a proxy inspects TLS, a platform admin can add its CA certificate: svc platform config set --ca-file <file>.';

/** Whether an installer reports that it does not trust the certificate of a registry. */
export function isUntrusted(log: string): boolean {
  return untrusted.test(log);
}

/**
 * Why the dependencies of a pod could not be installed, in the installer's last lines; undefined without a failure.
 */
export function dependencyFailure({ status }: Pod): string | undefined {
  const step = status?.initContainerStatuses?.find(({ name }) => name === dependenciesContainer);
  // Between two attempts the container runs for a moment: its last termination still counts.
  const ended = step?.state?.terminated ?? step?.lastState?.terminated;
  if (!ended || ended.exitCode === 0) return undefined;
  if (ended.reason === 'OOMKilled') return 'The dependencies cannot be installed: the installer ran out of memory.';
  const allLines = (ended.message ?? '').split('\n').filter((line) => line.trim() !== '');
  const lastAttempt = allLines.findLastIndex((line) => attempts.test(line));
  const lines = allLines.filter((line, index) => index === lastAttempt || !attempts.test(line));
  const detail = lines.length === 0 ? `the installer exited with code ${ended.exitCode}` : lines.slice(-8).join('; ');
  const cause = isUntrusted(detail) ? `the registry's certificate is not trusted. ${untrustedAdvice} ` : '';
  return `The dependencies cannot be installed: ${cause}${detail}`.slice(0, messageMax);
}
