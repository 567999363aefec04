import { dayMs } from '../../runtime/domain/period.ts';
import type { KeyView } from '../../runtime/contracts/api/keys.ts';
import type { UsageSummary } from '../../runtime/contracts/api/usage.ts';
import type { LocatedKey } from '../../runtime/api/locate-key.ts';
import type { ApiKey } from '../../runtime/records/keys.ts';
import type { KeyUsage } from '../../runtime/records/usage.ts';

/** A warning is shown in the last two weeks before an expiry. */
const warningMs = 14 * dayMs;

function expiryWarning(expiresAt: Date | null, now: Date): 'soon' | 'expired' | undefined {
  const remainingMs = expiresAt ? expiresAt.getTime() - now.getTime() : Infinity;
  if (remainingMs <= 0) return 'expired';
  return remainingMs <= warningMs ? 'soon' : undefined;
}

function usageSummary({ allowed, rateDenied, quotaDenied, lastSeen }: KeyUsage): UsageSummary {
  return { allowed, rateDenied, quotaDenied, ...(lastSeen !== null && { lastSeen }) };
}

const unused: KeyUsage = { allowed: 0, rateDenied: 0, quotaDenied: 0, lastSeen: null };

/** A key as the API shows it. @param usage undefined without traffic */
export function toView({ record, environment }: LocatedKey, usage: KeyUsage | undefined, now: Date): KeyView {
  const warning = expiryWarning(record.expiresAt, now);
  return {
    id: record.id,
    handle: record.handle,
    ...(record.name !== null && { name: record.name }),
    environment: environment.environment,
    plan: record.planName,
    ...(record.apps !== null && { apps: record.apps }),
    ...(record.allowedCidrs !== null && { allowedCidrs: record.allowedCidrs }),
    enabled: record.enabled,
    ...(record.expiresAt && { expiresAt: record.expiresAt.toISOString() }),
    ...(warning && { expiryWarning: warning }),
    ...(record.replacedBy !== null && { replacedBy: record.replacedBy }),
    usage: usageSummary(usage ?? unused),
    createdAt: record.createdAt.toISOString(),
    createdBy: record.createdBy,
  };
}

/** A key in the audit log, without its digest. */
export function audited({ id, handle, name, planName, apps, allowedCidrs, enabled, expiresAt, replacedBy }: ApiKey) {
  return { id, handle, name, plan: planName, apps, allowedCidrs, enabled, expiresAt, replacedBy };
}
