import type { SecurityChange, SecurityView } from '../contracts/api/public-route.ts';
import type { SecuritySettings } from '../contracts/resources/public-route.ts';
import { checkCspSources } from '../domain/content-policy.ts';

/** Checks what comes in of the security settings. @throws Problem `invalid_value` */
export function checkSecurity(security: SecurityChange | undefined): void {
  checkCspSources(security?.csp ?? []);
}

/** Those of a new workload: with the headers, unless they are not wanted. @throws Problem `invalid_value` */
export function newSecurity(security: SecurityChange | undefined): SecuritySettings {
  checkSecurity(security);
  const { headers = true, csp } = security ?? {};
  return { headers, ...(csp && { csp }) };
}

/** Those that a change of the given parts makes. @throws Problem `invalid_value` */
export function changedSecurity(before: SecuritySettings = {}, change: SecurityChange): SecuritySettings {
  checkSecurity(change);
  const { headers = before.headers, csp = before.csp } = change;
  return { ...(headers !== undefined && { headers }), ...(csp && { csp }) };
}

/** As the API shows them. */
export function securityToView({ headers = false, csp }: SecuritySettings = {}): SecurityView {
  return { headers, csp: csp ?? null };
}
