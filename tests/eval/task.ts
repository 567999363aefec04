import type { AssistantPage } from '../../runtime/contracts/api/assistant.ts';
import type { Recording } from './recording.ts';

/** A question about a recorded state of a platform, and the facts that a good answer states. */
export interface Task {
  name: string;
  question: string;
  page?: AssistantPage;
  state: Recording;
  /** Calls of tools that show the facts. */
  reads: readonly (readonly [tool: string, args: object])[];
  /** Each has to be in the answer. */
  facts: Readonly<Record<string, RegExp>>;
  /** Claims that are not true, or an order that a log gave. */
  wrong?: RegExp;
  /** The command that the assistant should prepare; absent: none. */
  prepares?: { command: RegExp; call: readonly [tool: string, args: object] };
  /** An answer with all facts. */
  answer: string;
}
