/** The least that a function can do: the answer of the bare server. */
export const handler = () => ({ statusCode: 200, headers: { 'cache-control': 'no-store', 'content-length': '0' } });
