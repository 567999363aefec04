import { verifyAccountToken, type AccountTokens } from './authentication.ts';
import { methodNotAllowed } from './api-error.ts';
import { readJson, sendJson, type Exchange } from './exchange.ts';
import { isJson, valueAt } from './json.ts';
import { tokenIssuer } from './tokens.ts';

/**
 * Serves `tokenreviews`: the user of a token. Nothing is stored.
 * https://kubernetes.io/docs/reference/kubernetes-api/authentication-resources/token-review-v1/
 */
export function createTokenReviews(tokens: AccountTokens): (exchange: Exchange) => Promise<void> {
  return async (exchange) => {
    if (exchange.method !== 'POST') throw methodNotAllowed();
    const body = valueAt(await readJson(exchange.request), 'spec');
    const spec = isJson(body) ? body : {};
    const audiences = Array.isArray(spec['audiences']) ? spec['audiences'].map(String) : [];
    const token = typeof spec['token'] === 'string' ? spec['token'] : '';
    const account = verifyAccountToken(tokens, token, audiences.length > 0 ? audiences : [tokenIssuer]);
    sendJson(exchange, 201, {
      kind: 'TokenReview',
      apiVersion: 'authentication.k8s.io/v1',
      metadata: {},
      spec,
      status: account ? statusOf(account) : { user: {}, error: 'the token is not valid' },
    });
  };
}

function statusOf({ name, groups, pod, audiences }: NonNullable<ReturnType<typeof verifyAccountToken>>) {
  const extra = pod && {
    'authentication.kubernetes.io/pod-name': [pod.name],
    'authentication.kubernetes.io/pod-uid': [pod.uid],
  };
  return { authenticated: true, user: { username: name, groups: [...groups], ...(extra && { extra }) }, audiences };
}
