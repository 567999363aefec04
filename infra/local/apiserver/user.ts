/** The user of a request, as authenticated. */
export interface User {
  name: string;
  groups: readonly string[];
  /** The pod that the token is bound to. */
  pod?: { name: string; uid: string };
}
