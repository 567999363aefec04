import { checkHost } from './names.ts';
import { Problem } from './problem.ts';

/** Maximum length of all sources together: several directives repeat them, and many servers limit headers to 8 KiB. */
const cspSourcesMax = 2_000;

/** `https://*.example.com:8443`; scheme and port are optional. */
const source = /^(?:(?:https?|wss?):\/\/)?(?:\*\.)?([^:/*]+)(?::(\d{1,5}))?$/;

function refuse(message: string): never {
  throw new Problem('invalid_value', message, { details: { field: 'csp' } });
}

/**
 * Checks the external domains that pages may load from: each a host with optional `*.` prefix, scheme (http, https, ws,
 * wss) and port. Text that could end the directive or add a keyword is refused. @throws Problem `invalid_value`
 */
export function checkCspSources(sources: readonly string[]): readonly string[] {
  for (const entry of sources) {
    const [, host, port = '443'] = source.exec(entry) ?? [];
    if (host === undefined || Number(port) < 1 || Number(port) > 65_535) {
      refuse(
        `"${entry}" is not a valid domain for the Content-Security-Policy; use hosts such as cdn.example.com, *.example.com or https://api.example.com:8443.`,
      );
    }
    checkHost(host, 'csp');
  }
  if (sources.join(' ').length > cspSourcesMax) {
    refuse(
      `The domains for the Content-Security-Policy are too long: the limit is ${cspSourcesMax} characters in total.`,
    );
  }
  return sources;
}

/**
 * The Content-Security-Policy that allows pages to load from their own host and these domains, and only images inline.
 * Checks the sources, because they become part of a header. Pure. @throws Problem `invalid_value`
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
