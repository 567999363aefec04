import type { AnswerEvent, AnswerFault } from '../contracts/api/assistant.ts';
import type { Problem } from '../domain/problem.ts';
import { problemOf } from '../http/errors.ts';
import type { ToolCaller } from './call-route.ts';
import { ProviderError } from './provider-error.ts';

const later = 'Try again later.';
const forAdmins = 'Platform admins see the reason with `svc platform assistant test`.';

/** What users read. What a provider says can name hosts and accounts of the installation, so only platform admins see it. */
const messages: Partial<Record<AnswerFault, string>> = {
  provider_unreachable: `The AI provider cannot be reached. ${forAdmins}`,
  provider_refused: `The AI provider refuses the key of the platform. ${forAdmins}`,
  provider_busy: `The AI provider refuses further requests for now. ${later}`,
  provider_failed: `The AI provider failed. ${forAdmins}`,
  provider_timeout: `The AI provider sent nothing for too long. ${later}`,
  provider_invalid: `The AI provider sent something that is no answer. ${forAdmins}`,
  provider_cut_off: `The connection to the AI provider ended before its answer did. ${later}`,
  assistant_budget_used: 'The tokens of the day are used up. They are counted anew from midnight UTC.',
};

/** The last line of an answer that failed. @param isLate whether its time was up */
export function answerFaultOf(
  error: unknown,
  { session, log, requestId }: Pick<ToolCaller, 'session' | 'log' | 'requestId'>,
  isLate: boolean,
): Extract<AnswerEvent, { type: 'error' }> {
  if (isLate) {
    return { type: 'error', code: 'answer_timeout', error: 'The answer took too long. Ask for less at once.' };
  }
  if (error instanceof ProviderError) {
    const { code, message } = error;
    log.warn({ code, reason: message }, 'the assistant has no answer');
    const reason = session.role === 'admin' && code !== 'assistant_budget_used' ? ` The reason: ${message}.` : '';
    return { type: 'error', code, error: `${messages[code] ?? 'The AI provider failed.'}${reason}` };
  }
  const problem = problemOf(error, requestId);
  if (problem.status >= 500) log.error({ err: problem.cause ?? problem, code: problem.code }, 'answer failed');
  const code = faultOf(problem);
  return { type: 'error', code, error: problem.message };
}

function faultOf({ code }: Problem): AnswerFault {
  return code === 'unavailable' || code === 'too_many_requests' ? code : 'internal';
}
