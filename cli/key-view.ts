import type { KeyView } from '../runtime/contracts/api/keys.ts';
import type { Paint, Tone } from './colour.ts';
import { ago, fields, span, table, type Shown } from './output.ts';

/** Whether a key opens anything, and what is to be known of its expiry: `enabled, expires in 3 days`. */
function statusOf({ enabled, expiresAt, expiryWarning }: KeyView, now: Date): string {
  if (expiryWarning === 'expired' || expiresAt === undefined)
    return expiryWarning ?? (enabled ? 'enabled' : 'disabled');
  const state = enabled ? 'enabled' : 'disabled';
  const seconds = Math.max(0, Date.parse(expiresAt) - now.getTime()) / 1000;
  return expiryWarning === 'soon' ? `${state}, expires in ${span(seconds)}` : state;
}

function toneOf({ expiryWarning }: KeyView): Tone | undefined {
  if (expiryWarning === undefined) return undefined;
  return expiryWarning === 'soon' ? 'warning' : 'danger';
}

const scopeOf = ({ apps }: KeyView) => (apps === undefined ? 'all' : apps.join(', '));

/** One key. */
export function shownKey(key: KeyView, now: Date, paint: Paint): Shown {
  const { allowed, rateDenied, quotaDenied, lastSeen } = key.usage;
  return {
    data: key,
    table: fields(
      [
        ['Key', key.handle],
        ['Name', key.name],
        ['Plan', key.plan],
        ['Apps', scopeOf(key)],
        ['Addresses', key.allowedCidrs?.join(', ')],
        ['Status', statusOf(key, now), toneOf(key)],
        ['Expires', key.expiresAt],
        ['Replaced by', key.replacedBy],
        ['Last 90 days', `${allowed} allowed, ${rateDenied} over the rate, ${quotaDenied} over the quota`],
        ['Last seen', lastSeen ?? 'not in 92 days'],
        ['Created', ago(key.createdAt, now)],
        ['Created by', key.createdBy],
        ['ID', key.id],
      ],
      paint,
    ),
    names: [key.handle],
  };
}

/** A list of keys. */
export function shownKeys(keys: readonly KeyView[], now: Date, paint: Paint): Shown {
  return {
    data: keys,
    table: table(
      keys,
      [
        { title: 'KEY', value: ({ handle }) => handle },
        { title: 'NAME', value: ({ name }) => name },
        { title: 'PLAN', value: ({ plan }) => plan },
        { title: 'APPS', value: scopeOf },
        { title: 'STATUS', value: (key) => statusOf(key, now), tone: toneOf },
        { title: 'EXPIRES', value: ({ expiresAt }) => expiresAt },
        { title: 'ALLOWED', value: ({ usage }) => usage.allowed },
        { title: 'DENIED', value: ({ usage }) => usage.rateDenied + usage.quotaDenied },
        { title: 'LAST SEEN', value: ({ usage }) => usage.lastSeen },
        { title: 'CREATED', value: ({ createdAt }) => ago(createdAt, now) },
      ],
      paint,
    ),
    names: keys.map(({ handle }) => handle),
  };
}
