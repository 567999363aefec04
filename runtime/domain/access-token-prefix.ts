/** The start of every access token, and of no other bearer token. */
export const accessTokenPrefix = 'svct_';
