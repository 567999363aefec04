import type { SecurityChange, SecurityView } from '../contracts/api/public-route.ts';
import type { SecuritySettings } from '../contracts/resources/public-route.ts';
import { checkCspSources } from '../domain/content-policy.ts';

/** Checks security settings in a request. @throws Problem `invalid_value` */
export function checkSecurity(security: SecurityChange | undefined): void {
  checkCspSources(security?.csp ?? []);
}

/** The security settings of a new workload; security headers are enabled by default. @throws Problem `invalid_value` */
export function newSecurity(security: SecurityChange | undefined): SecuritySettings {
  checkSecurity(security);
  const { headers = true, csp } = security ?? {};
  return { headers, ...(csp && { csp }) };
}

/** The security settings after a change; absent fields stay. @throws Problem `invalid_value` */
export function changedSecurity(before: SecuritySettings = {}, change: SecurityChange): SecuritySettings {
  checkSecurity(change);
  const { headers = before.headers, csp = before.csp } = change;
  return { ...(headers !== undefined && { headers }), ...(csp && { csp }) };
}

/** Security settings as the API shows them. */
export function securityToView({ headers = false, csp }: SecuritySettings = {}): SecurityView {
  return { headers, csp: csp ?? null };
}
