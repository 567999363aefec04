/**
 * Headers of every response of the management API, which serves no page: browsers neither guess its type, show it in a
 * frame, run anything in it nor store it. Pure.
 * @param baseUrl the API's public address. Behind https, browsers never use plain HTTP for this host afterwards.
 */
export function responseHeaders(baseUrl: string): Readonly<Record<string, string>> {
  return {
    'Cache-Control': 'no-store',
    'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
    'Referrer-Policy': 'no-referrer',
    'X-Content-Type-Options': 'nosniff',
    'X-Frame-Options': 'DENY',
    ...(baseUrl.startsWith('https:') && { 'Strict-Transport-Security': 'max-age=31536000' }),
  };
}
