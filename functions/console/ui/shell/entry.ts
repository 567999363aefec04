import type { Place } from '../api/queries.ts';

/** A line of the palette. */
export interface Entry {
  id: string;
  /** What it is: a kind of object, a page or an action. */
  kind: string;
  title: string;
  /** Where it is. */
  detail?: string;
  /** The `svc` command that does the same. */
  command?: string;
  target:
    | { to: 'path'; path: string }
    | { to: 'url'; url: string }
    | { to: 'restart'; place: Place; app: string }
    | { to: 'sign-out' }
    | { to: 'assistant' }
    | { to: 'shortcuts' };
}
