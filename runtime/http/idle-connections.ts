/**
 * How long a server behind the ingress keeps an idle connection, in ms. It is above the 90 s of Traefik, so that Traefik
 * closes first. When the server closes first, a request can already be on its way: Traefik repeats a GET, but answers a
 * POST with 502, and a delivery of a webhook is lost.
 *
 * @see https://doc.traefik.io/traefik/reference/install-configuration/entrypoints/ (idleTimeout)
 * @see https://pkg.go.dev/net/http#Transport (IdleConnTimeout, and which requests are repeated)
 */
export const idleConnectionMs = 120_000;
