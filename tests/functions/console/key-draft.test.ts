import t from 'tap';
import { keyCreate, keyUpdate, type KeyView } from '../../../runtime/contracts/api/keys.ts';
import { planCreate, planUpdate } from '../../../runtime/contracts/api/plans.ts';
import * as keys from '../../../functions/console/ui/keys/key-draft.ts';
import * as plans from '../../../functions/console/ui/keys/plan-draft.ts';

const empty: keys.KeyDraft = { name: '', plan: 'small', apps: '', networks: '', expires: '' };
const full: keys.KeyDraft = {
  name: 'first customer',
  plan: 'large',
  apps: 'api, web,',
  networks: '192.0.2.0/24',
  expires: '2027-01-31',
};

t.test('a new key has what the form has, and so does its command', (t) => {
  t.same(keys.createBody(empty), { plan: 'small' });
  t.same(keys.createWords(empty), ['key', 'create', '--plan', 'small']);
  const body = keys.createBody(full);
  t.same(body, {
    name: 'first customer',
    plan: 'large',
    apps: ['api', 'web'],
    allowedCidrs: ['192.0.2.0/24'],
    expiresAt: '2027-01-31T23:59:59.999Z',
  });
  t.ok(keyCreate.safeParse(body).success, 'the API accepts its form');
  t.same(keys.createWords(full), [
    ...['key', 'create', '--plan', 'large', '--name', 'first customer', '--app', 'api', '--app', 'web'],
    ...['--allow', '192.0.2.0/24', '--expires', '2027-01-31'],
  ]);
  t.end();
});

/** A key as the user saw it last: others have changed its expiry since the form was opened. */
const seen: KeyView = {
  id: '8a3d1d9e-6d58-4c62-9b54-2f1f4ac1a0de',
  handle: 'k3x9q2ab',
  environment: 'prod',
  enabled: true,
  name: 'first customer',
  plan: 'small',
  apps: [],
  expiresAt: '2027-06-30T23:59:59.999Z',
  usage: { allowed: 0, rateDenied: 0, quotaDenied: 0 },
  createdAt: '2026-01-01T00:00:00.000Z',
  createdBy: 'dana@example.com',
};

t.test('a change of a key has what differs and nothing else, and names what it replaces', (t) => {
  const change = (before: keys.KeyDraft, after: keys.KeyDraft) => {
    const body = keys.changeBody(before, after, seen);
    t.ok(keyUpdate.safeParse(body).success, 'the API accepts its form');
    return [body, keys.changeWords('k3x9q2ab', before, after)];
  };
  t.same(change(full, { ...full, apps: 'api,web' }), [{}, ['key', 'show', 'k3x9q2ab']]);
  t.same(change(full, { ...empty, plan: 'large' }), [
    {
      name: null,
      apps: null,
      allowedCidrs: null,
      expiresAt: null,
      replaces: { name: 'first customer', apps: [], allowedCidrs: null, expiresAt: '2027-06-30T23:59:59.999Z' },
    },
    ['key', 'update', 'k3x9q2ab', '--name', '', '--all-apps', '--allow-all', '--expires', 'never'],
  ]);
  t.same(change(empty, { ...empty, plan: 'large', apps: 'api' }), [
    { plan: 'large', apps: ['api'], replaces: { plan: 'small', apps: [] } },
    ['key', 'update', 'k3x9q2ab', '--plan', 'large', '--app', 'api'],
  ]);
  t.end();
});

const plan: plans.PlanDraft = { name: 'small', rate: '5', burst: '10', quota: '', period: 'day' };

t.test('a plan has a quota where the form has one', (t) => {
  t.same(plans.createBody(plan), { name: 'small', requestsPerSecond: 5, burst: 10 });
  t.same(plans.createWords({ ...plan, name: '' }), ['plan', 'create', 'small', '--rate', '5', '--burst', '10']);
  const limited = { ...plan, quota: '1000', period: 'month' };
  t.ok(planCreate.safeParse(plans.createBody(limited)).success, 'the API accepts its form');
  t.same(plans.createWords(limited).slice(-2), ['--quota', '1000/month']);
  const change = (before: plans.PlanDraft, after: plans.PlanDraft) => {
    const body = plans.changeBody(before, after, { ...before, rate: '7' });
    t.ok(planUpdate.safeParse(body).success, 'the API accepts its form');
    return [body, plans.changeWords(before, after)];
  };
  t.same(change(plan, { ...plan, period: 'week' }), [{}, ['plan', 'show', 'small']], 'a period of no quota');
  t.same(change(plan, { ...limited, rate: '2.5' }), [
    {
      requestsPerSecond: 2.5,
      quota: { limit: 1000, period: 'month' },
      replaces: { requestsPerSecond: 7, quota: null },
    },
    ['plan', 'update', 'small', '--rate', '2.5', '--quota', '1000/month'],
  ]);
  t.same(change(limited, { ...limited, period: 'week' }), [
    { quota: { limit: 1000, period: 'week' }, replaces: { quota: { limit: 1000, period: 'month' } } },
    ['plan', 'update', 'small', '--quota', '1000/week'],
  ]);
  const replaces = { quota: { limit: 1000, period: 'month' } };
  t.same(change(limited, plan), [{ quota: null, replaces }, ['plan', 'update', 'small', '--quota', 'none']]);
  t.end();
});
