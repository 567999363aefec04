import { keyView, type KeyView } from '../../runtime/contracts/api/keys.ts';
import type { Tone } from '../colour.ts';
import { defineKind } from '../kind.ts';
import { ageColumn, ago, span } from '../output.ts';

/** Whether a key is enabled, and when it expires if that is soon: `enabled, expires in 3 days`. */
function statusOf({ enabled, expiresAt, expiryWarning }: KeyView, now: Date): string {
  const state = enabled ? 'enabled' : 'disabled';
  if (expiryWarning === 'expired' || expiresAt === undefined) return expiryWarning ?? state;
  const seconds = Math.max(0, Date.parse(expiresAt) - now.getTime()) / 1000;
  return expiryWarning === 'soon' ? `${state}, expires in ${span(seconds)}` : state;
}

function toneOf({ expiryWarning }: KeyView): Tone | undefined {
  if (expiryWarning === undefined) return undefined;
  return expiryWarning === 'soon' ? 'warning' : 'danger';
}

const appsOf = ({ apps }: KeyView) => apps?.join(', ') ?? 'all';

/** API keys; they are revoked, not deleted, so {@link Kind.delete} is not used. */
export const keyKind = defineKind<KeyView>({
  name: 'key',
  level: 'environment',
  collection: 'api-keys',
  schema: keyView,
  id: ({ handle }) => handle,
  examples: ['k3x9q2ab', 'p7m4w1cd'],
  columns: (_, { now }) => [
    { title: 'NAME', value: ({ name }) => name },
    { title: 'PLAN', value: ({ plan }) => plan },
    { title: 'APPS', value: appsOf },
    { title: 'STATUS', value: (view) => statusOf(view, now), tone: toneOf },
    { title: 'EXPIRES', value: ({ expiresAt }) => expiresAt },
    { title: 'ALLOWED', value: ({ usage }) => usage.allowed },
    { title: 'DENIED', value: ({ usage }) => usage.rateDenied + usage.quotaDenied },
    { title: 'LAST SEEN', value: ({ usage }) => usage.lastSeen },
    ageColumn(now),
  ],
  details(view, { now }) {
    const { allowed, rateDenied, quotaDenied, lastSeen } = view.usage;
    return [
      ['Key', view.handle],
      ['Name', view.name],
      ['Plan', view.plan],
      ['Apps', appsOf(view)],
      ['Addresses', view.allowedCidrs?.join(', ')],
      ['Status', statusOf(view, now), toneOf(view)],
      ['Expires', view.expiresAt],
      ['Replaced by', view.replacedBy],
      ['Last 90 days', `${allowed} allowed, ${rateDenied} over the rate, ${quotaDenied} over the quota`],
      ['Last seen', lastSeen ?? 'not in 92 days'],
      ['Created', ago(view.createdAt, now)],
      ['Created by', view.createdBy],
      ['ID', view.id],
    ];
  },
  help: {
    list: 'List the API keys in an environment with their usage in the last 90 days.',
    show: 'Show an API key, by handle or ID.',
  },
});
