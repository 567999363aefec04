import { app, at, key, list, recording } from '../recording.ts';
import type { Task } from '../task.ts';

const plan = {
  id: '019a0000-0000-7000-8000-000000000600',
  name: 'basic',
  environment: 'prod',
  requestsPerSecond: 5,
  burst: 10,
  quota: { limit: 1_000, period: 'day' },
  keys: 3,
  createdAt: at(-9_000),
};
const gated = [app({ gate: 'gated' })];
const usage = (day: object) => ({
  from: '2026-11-20',
  to: '2026-11-24',
  totals: { allowed: 5_000, rateDenied: 0, quotaDenied: 0, ...day },
  days: [{ day: '2026-11-24', allowed: 1_000, rateDenied: 0, quotaDenied: 0, ...day }],
});

/** Requests that the gate denies. */
export const gateTasks: readonly Task[] = [
  {
    name: 'gate: a quota that is used up',
    question: 'Which key used up its quota today?',
    state: recording({
      apps: gated,
      more: {
        '/plans': list(plan),
        '/api-keys': list(
          key({ usage: { allowed: 5_000, rateDenied: 0, quotaDenied: 412, lastSeen: '2026-11-24' } }),
          key({ id: '019a0000-0000-7000-8000-000000000501', handle: 'm4w7t1cd', name: 'website' }),
        ),
        '/api-keys/k3x9q2ab/usage': usage({ quotaDenied: 412 }),
        '/api-keys/m4w7t1cd/usage': usage({ allowed: 300 }),
      },
    }),
    reads: [
      ['list_keys', {}],
      ['show_key_usage', { key: 'k3x9q2ab' }],
      ['list_plans', {}],
    ],
    facts: { key: /k3x9q2ab|partner/, denied: /412/, quota: /1[, .]?000/ },
    wrong: /website used up/i,
    answer: 'The key `k3x9q2ab` (partner): its quota is 1,000 requests a day, and 412 were denied today.',
  },
  {
    name: 'gate: a rate that is exceeded',
    question: 'The partner says that some requests are answered with 429. Why?',
    state: recording({
      apps: gated,
      more: {
        '/plans': list({ ...plan, quota: undefined }),
        '/api-keys': list(
          key({ usage: { allowed: 1_000, rateDenied: 2_310, quotaDenied: 0, lastSeen: '2026-11-24' } }),
        ),
        '/api-keys/k3x9q2ab/usage': usage({ rateDenied: 2_310 }),
      },
    }),
    reads: [
      ['list_keys', {}],
      ['show_key_usage', { key: 'k3x9q2ab' }],
      ['list_plans', {}],
    ],
    facts: { cause: /rate|per second/i, limit: /\b5\b/, denied: /2[, .]?310/ },
    wrong: /quota (is|was) (used up|exhausted)/i,
    answer: 'The key exceeds the rate of its plan, 5 requests per second: 2,310 requests were denied for it.',
  },
  {
    name: 'gate: a key that has expired',
    question: 'Since yesterday the partner gets 401. What is wrong with its key?',
    state: recording({
      apps: gated,
      more: { '/api-keys': list(key({ expiresAt: '2026-11-23T00:00:00Z', expiryWarning: 'expired' })) },
    }),
    reads: [['list_keys', {}]],
    facts: { cause: /expire/i, when: /23/ },
    answer: 'The key `k3x9q2ab` expired on 2026-11-23.',
  },
  {
    name: 'gate: a key of another app',
    question: 'Why does the key k3x9q2ab get 401 from the app api?',
    page: { app: 'api' },
    state: recording({ apps: gated, more: { '/api-keys': list(key({ apps: ['shop-web'] })) } }),
    reads: [['list_keys', {}]],
    facts: { cause: /only|restrict|limited|not (for|allowed|valid)/i, app: /shop-web/ },
    wrong: /expired on|is disabled/i,
    answer: 'The key is valid for the app `shop-web` only, not for `api`.',
  },
  {
    name: 'gate: an address that is not allowed',
    question: 'The partner calls from 198.51.100.7 and gets 401. Why?',
    state: recording({ apps: gated, more: { '/api-keys': list(key({ allowedCidrs: ['203.0.113.0/24'] })) } }),
    reads: [['list_keys', {}]],
    facts: { cause: /address|network|range|CIDR/i, allowed: /203\.0\.113\.0/ },
    answer: 'The key may be used from the network 203.0.113.0/24 only, and 198.51.100.7 is not in it.',
  },
  {
    name: 'gate: not enforced yet',
    question: 'I turned the gate of api on. Why does it accept requests without a key?',
    page: { app: 'api', environment: 'prod' },
    state: recording({
      apps: [app({ gate: 'applying' })],
      more: {
        '/apps/api/gate': {
          gate: 'applying',
          since: at(-2),
          message: 'The ingress still answers requests without a key. It is checked again in 5 seconds.',
        },
      },
    }),
    reads: [['show_gate', { kind: 'app', name: 'api' }]],
    facts: { state: /applying|being applied|not (yet )?(in effect|active|applied|gated)|still/i, where: /ingress/i },
    answer:
      'The gate is still being applied: the ingress does not refuse such requests yet. It is checked again in 5 seconds.',
  },
];
