import type { Id } from '../../runtime/domain/ids.ts';
import { apiGroup } from '../../runtime/domain/labels.ts';

/** What a child is, where a function has several of one kind. */
export const partLabel = `${apiGroup}/part`;

/** What the builders need of a function. */
export interface FunctionIdentity {
  id: Id;
  name: string;
  namespace: string;
}

/** A function as labels name it. Pure. */
export function workloadOf({ id, name }: FunctionIdentity) {
  return { kind: 'Function' as const, id, name };
}
