import type { LogDrainView } from '../../runtime/contracts/api/log-drain.ts';
import type { LogDrain } from '../../runtime/records/log-drain.ts';

/** The drain for admins; it contains no header's value. */
export function logDrainToView(drain: LogDrain): LogDrainView {
  const { url, format, networks, headerNames, failures, error, failingSince, lastSentAt, lastLineAt } = drain;
  const { sentLines, refusedLines, deletedLines, pendingLines, createdAt, updatedAt } = drain;
  const test = testToView(drain);
  return {
    url,
    format,
    headers: headerNames,
    networks,
    status: failures > 0 ? 'failing' : 'on',
    ...(error !== null && { error }),
    ...(failingSince && { failingSince: failingSince.toISOString() }),
    sentLines,
    refusedLines,
    deletedLines,
    pendingLines,
    ...(lastSentAt && { lastSentAt: lastSentAt.toISOString() }),
    ...(lastLineAt && { lastLineAt: lastLineAt.toISOString() }),
    ...(test && { test }),
    createdAt: createdAt.toISOString(),
    updatedAt: updatedAt.toISOString(),
  };
}

export function testToView({ testId, testState, testError, testAt }: LogDrain): LogDrainView['test'] {
  if (testId === null || testState === null || !testAt) return undefined;
  const error = testError !== null && { error: testError };
  return { id: testId, status: testState, at: testAt.toISOString(), ...error };
}
