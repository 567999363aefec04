import type { Id } from '../../runtime/domain/ids.ts';
import type { TakenTokens } from './shared-rates.ts';

/** Keys of one message, which with the longest numbers has 7,200 of at most 8,000 bytes. */
export const messageKeys = 150;

/** What one replica took, in the order of its messages. */
export interface RateMessage {
  /** A process life. */
  sender: Id;
  /** Counted from 1 by the sender. */
  number: number;
  taken: TakenTokens[];
}

const numberPattern = /^\d+(\.\d+)?$/;

/** `sender number key=tokens key=tokens …` */
export function writeRateMessage({ sender, number, taken }: RateMessage): string {
  return [sender, number, ...taken.map(({ keyId, tokens }) => `${keyId}=${tokens.toFixed(2)}`)].join(' ');
}

/** Undefined for a text that is no message, as a later version may send. */
export function readRateMessage(text: string): RateMessage | undefined {
  const [sender = '', number = '', ...parts] = text.split(' ');
  if (!numberPattern.test(number)) return undefined;
  const taken: TakenTokens[] = [];
  for (const part of parts) {
    const [keyId = '', tokens = ''] = part.split('=');
    if (!numberPattern.test(tokens)) return undefined;
    taken.push({ keyId, tokens: Number(tokens) });
  }
  return { sender, number: Number(number), taken };
}
