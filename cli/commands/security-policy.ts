import type { SecurityView } from '../../runtime/contracts/api/public-route.ts';
import { usageFailure } from '../failure.ts';
import { negated, texts, type FlagValues } from '../flags.ts';

/** Words for `--csp`; they cannot be hosts, which have a dot. */
const [onlySelf, noPolicy] = ['self', 'none'] as const;

export const cspFlag = texts('<domain>', `domain that pages may load from, or ${onlySelf} or ${noPolicy}`);

/** The policy of the `--csp` flags; undefined without any. @throws Failure (usage) for conflicting values */
export function policyOf(domains: readonly string[]): string[] | null | undefined {
  const exclusive = domains.find((domain) => domain === onlySelf || domain === noPolicy);
  if (exclusive !== undefined && domains.length > 1)
    throw usageFailure(`--csp ${exclusive} cannot be combined with other --csp flags.`);
  if (exclusive === noPolicy) return null;
  if (exclusive === onlySelf) return [];
  return domains.length === 0 ? undefined : [...domains];
}

/** For `create`: the security headers. */
export const securityFlags = { securityHeaders: negated('do not send the standard security headers'), csp: cspFlag };

/** The fields of a new workload for {@link securityFlags}. */
export function securityBody(flags: FlagValues<typeof securityFlags>): { security?: object } {
  const csp = policyOf(flags.csp);
  const security = { ...(!flags.securityHeaders && { headers: false }), ...(csp && { csp }) };
  return Object.keys(security).length > 0 ? { security } : {};
}

/** The settings as one field for people. */
export function securityText({ headers, csp }: SecurityView): string {
  return `headers ${headers ? 'on' : 'off'}, policy ${policyText(csp)}`;
}

export function policyText(csp: readonly string[] | null): string {
  return csp === null ? noPolicy : [onlySelf, ...csp].join(' ');
}
