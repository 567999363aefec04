import type { Id } from '../../runtime/domain/ids.ts';
import { apiGroup } from '../../runtime/domain/labels.ts';

/** Distinguishes a function's objects of the same kind. */
export const partLabel = `${apiGroup}/part`;

/** What identifies a function. */
export interface FunctionIdentity {
  id: Id;
  name: string;
  namespace: string;
}

/** A function in the form that labels are made from. Pure. */
export function workloadOf({ id, name }: FunctionIdentity) {
  return { kind: 'Function' as const, id, name };
}
