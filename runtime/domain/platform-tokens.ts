/**
 * API keys, access tokens, session tokens and webhook tokens in a text. The pattern is wider than each of them: what only
 * looks like one is masked, too.
 */
export const platformTokens = /svc(?:s|t|wh)?_[a-z0-9_]{40,}/g;
