import type { Site, SiteReply, SiteRequest } from '../../runtime/http/site.ts';
import type { Asset, ConsoleAssets, Encoding } from './assets.ts';

/** What a page may load and do. Trusted Types without a policy: no text becomes HTML or script anywhere in it. */
const contentSecurityPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src 'self' data:",
  "font-src 'self'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
  "form-action 'self'",
].join('; ');

const permissions = ['camera', 'geolocation', 'microphone', 'payment', 'usb'].map((name) => `${name}=()`).join(', ');

/** Paths of the API and of health checks, which never answer with a page. */
const apiPaths = /^\/(api|health|ready|metrics)(\/|$)/;
const assetPath = /^\/assets\/([A-Za-z0-9_.-]{1,200})$/;

/**
 * The web console: its page at `/` and at every path that a browser navigates to, and its files below `/assets/`.
 * @param assets undefined when the console is not built: `/` then answers 404, and says how to build it
 * @param baseUrl the public address, which decides whether the headers for https are sent
 */
export function createConsoleSite({ assets, baseUrl }: { assets: ConsoleAssets | undefined; baseUrl: string }): Site {
  const headers = {
    'Content-Security-Policy': contentSecurityPolicy,
    'Permissions-Policy': permissions,
    'Cross-Origin-Resource-Policy': 'same-origin',
    // Browsers report this header as an error where it has no effect, which is without https.
    ...(baseUrl.startsWith('https:') && { 'Cross-Origin-Opener-Policy': 'same-origin' }),
  };
  return (request) => {
    const { method, path } = request;
    if ((method !== 'GET' && method !== 'HEAD') || apiPaths.test(path)) return undefined;
    if (path === '/assets' || path.startsWith('/assets/')) {
      const asset = assets?.assets.get(assetPath.exec(path)?.[1] ?? '');
      if (!asset) return undefined;
      const cacheControl = 'public, max-age=31536000, immutable';
      return { pattern: '/assets/*', ...answer(asset, request, { ...headers, 'Cache-Control': cacheControl }) };
    }
    if (path !== '/' && !isNavigation(request)) return undefined;
    if (!assets) return { pattern: '/*', missing: 'The web console is not built. Run `npm run console`.' };
    // The page names the files of this version, so a browser asks for it every time.
    return { pattern: '/*', ...answer(assets.page, request, { ...headers, 'Cache-Control': 'private, no-cache' }) };
  };
}

/** Whether a browser opens the path as a page. A script, an image or curl gets 404 for a path that does not exist. */
function isNavigation({ headers }: SiteRequest): boolean {
  const mode = headers['sec-fetch-mode'];
  if (mode !== undefined) return mode === 'navigate';
  return (headers['accept'] ?? '').split(',').some((range) => range.trim().split(';', 1)[0] === 'text/html');
}

function answer(asset: Asset, request: SiteRequest, headers: Readonly<Record<string, string>>): SiteReply {
  const encoding = chooseEncoding(asset, request.headers['accept-encoding']);
  const etag = asset.etag(encoding);
  const common = { ...headers, ETag: etag, Vary: 'Accept, Accept-Encoding, Sec-Fetch-Mode' };
  if (matches(request.headers['if-none-match'], etag)) return { status: 304, headers: common };
  return {
    status: 200,
    headers: {
      ...common,
      'Content-Type': asset.type,
      ...(encoding !== 'identity' && { 'Content-Encoding': encoding }),
    },
    body: asset.content[encoding] ?? asset.content.identity,
  };
}

/** https://www.rfc-editor.org/rfc/rfc9110#name-accept-encoding; a weight other than 0 has no further effect. */
function chooseEncoding({ content }: Asset, accepted = ''): Encoding {
  const weights = new Map(
    accepted
      .slice(0, 500)
      .toLowerCase()
      .split(',')
      .map((part) => {
        const [name = '', weight = ''] = part.split(';');
        return [name.trim(), !/^\s*q=0(\.0*)?\s*$/.test(weight)] as const;
      }),
  );
  return (['br', 'gzip'] as const).find((name) => content[name] && weights.get(name)) ?? 'identity';
}

function matches(header: string | undefined, etag: string): boolean {
  return (header ?? '').split(',').some((value) => value.trim().replace(/^W\//, '') === etag || value.trim() === '*');
}
