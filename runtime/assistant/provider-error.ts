import type { AnswerFault } from '../contracts/api/assistant.ts';

/** Why a provider gave no answer. The message is for people, without its first word in capitals and without a full stop. */
export class ProviderError extends Error {
  override readonly name = 'ProviderError';
  readonly code: AnswerFault;

  constructor(code: AnswerFault, message: string) {
    super(message);
    this.code = code;
  }
}
