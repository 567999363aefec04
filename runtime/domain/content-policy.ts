import { checkHost } from './names.ts';
import { Problem } from './problem.ts';

/** Of all sources together: several directives repeat them, and many servers take headers of 8 KiB at most. */
export const cspSourcesMax = 2_000;

/** `https://*.example.com:8443`: scheme and port may be absent. */
const source = /^(?:(?:https?|wss?):\/\/)?(?:\*\.)?([^:/*]+)(?::(\d{1,5}))?$/;

function refuse(message: string): never {
  throw new Problem('invalid_value', message, { details: { field: 'csp' } });
}

/**
 * Checks the external domains that pages may load from: a host, perhaps with `*.` before it, a scheme (http, https, ws,
 * wss) and a port. Whatever could end the directive or add a keyword is refused. @throws Problem `invalid_value`
 */
export function checkCspSources(sources: readonly string[]): readonly string[] {
  for (const entry of sources) {
    const [, host, port] = source.exec(entry) ?? [];
    if (host === undefined || Number(port ?? 1) < 1 || Number(port ?? 1) > 65_535) {
      refuse(
        `"${entry}" is not a domain for the Content-Security-Policy: give hosts such as cdn.example.com, *.example.com or https://api.example.com:8443.`,
      );
    }
    checkHost(host, 'csp');
  }
  if (sources.join(' ').length > cspSourcesMax) {
    refuse(`The domains for the Content-Security-Policy have more than ${cspSourcesMax} characters in all.`);
  }
  return sources;
}

/**
 * The Content-Security-Policy that lets pages load from their own host and these domains, and nothing inline but images.
 * Pure; the sources are checked here, since a header is made of them. @throws Problem `invalid_value`
 */
export function contentSecurityPolicy(sources: readonly string[]): string {
  const allowed = ["'self'", ...new Set(checkCspSources(sources))].join(' ');
  return [
    `default-src ${allowed}`,
    `img-src ${allowed} data:`,
    "object-src 'none'",
    "base-uri 'self'",
    `form-action ${allowed}`,
    "frame-ancestors 'self'",
  ].join('; ');
}
