import type { AddressMatcher } from '../../runtime/domain/address.ts';
import {
  clientOf,
  createDenialLog,
  keyPrefixOf,
  senderOf,
  type DenialLogOptions,
  type LoggedRequest,
} from '../../runtime/process/denial-log.ts';
import type { Verdict } from './verdict.ts';

/** One of this many allowed requests is logged (docs/reference/limits.md#limits). */
const allowSample = 100;

/** The log of verdicts: every denial and one of 100 allowed requests, never a key (docs/reference/logs.md#gate). */
export interface DecisionLog {
  record(verdict: Verdict, request: LoggedRequest): void;
  /** Writes the waiting entries. Do not record anything afterwards. */
  close(): void;
}

function keyPrefix(verdict: Verdict, request: LoggedRequest): string | undefined {
  if ('key' in verdict) return verdict.key.handle;
  return verdict.decision === 'deny_key' ? verdict.handle : keyPrefixOf(request);
}

/** Creates the log of a checker. @param options.trustedProxies the same as for checks; default none */
export function createDecisionLog(options: DenialLogOptions & { trustedProxies?: AddressMatcher }): DecisionLog {
  const log = createDenialLog(options);
  const { clock, trustedProxies = () => false } = options;
  let allows = 0;

  return {
    record(verdict, request) {
      const { decision } = verdict;
      if (decision === 'preflight') return;
      const allowed = decision === 'allow';
      if (allowed && allows++ % allowSample !== 0) return;
      const entry = {
        at: clock.now(),
        ...clientOf(request),
        sender: senderOf(request, trustedProxies),
        keyPrefix: keyPrefix(verdict, request),
        app: 'app' in verdict ? `${verdict.app.namespace}/${verdict.app.name}` : undefined,
      };
      if (allowed) log.note('authorize allow', entry);
      else log.record({ ...entry, reason: decision, fault: decision === 'deny_key' ? verdict.fault : undefined });
    },
    close: () => log.close(),
  };
}
