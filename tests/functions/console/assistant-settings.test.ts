import t from 'tap';
import {
  dropsKey,
  providerBody,
  providerDraft,
  providerFlags,
} from '../../../functions/console/ui/platform/assistant-draft.ts';
import { assistantSettingsText } from '../../../functions/console/ui/text/assistant-settings.ts';
import { sentAtLevel } from '../../../runtime/assistant/data-levels.ts';
import { assistantSettings, type AssistantSettingsView } from '../../../runtime/contracts/api/assistant.ts';

const settings: AssistantSettingsView = {
  url: 'https://ai.example.com/v1',
  model: 'large',
  key: true,
  level: 'state',
  networks: ['10.20.0.0/16', 'fd00::/8'],
  messagesPerHour: 20,
  tokensPerDay: 1000,
  tokensToday: 7,
  createdAt: '2026-01-01T00:00:00.000Z',
  updatedAt: '2026-01-01T00:00:00.000Z',
};
const draft = providerDraft(settings);

t.test('what the page says of the levels is what the API says', (t) => {
  t.same(assistantSettingsText.levels.sends, sentAtLevel);
  t.end();
});

t.test('the form sends all settings, and the key only when it was entered', (t) => {
  const body = providerBody({ ...draft, networks: ' 10.0.0.0/8\n\nfd00::/8 ' });
  t.same(assistantSettings.parse(body), {
    url: settings.url,
    model: 'large',
    level: 'state',
    networks: ['10.0.0.0/8', 'fd00::/8'],
    messagesPerHour: 20,
    tokensPerDay: 1000,
  });
  t.match(providerBody({ ...draft, key: 'new' }), { key: 'new' });
  t.match(providerBody({ ...draft, key: 'new', withoutKey: true }), { key: null });
  t.match(assistantSettings.parse({ ...providerBody(providerDraft(null)), url: 'x', model: 'm' }), { level: 'names' });
  t.end();
});

t.test('the command has what differs, and never the key', (t) => {
  t.same(providerFlags(settings, draft), []);
  t.same(providerFlags(settings, { ...draft, level: 'logs', networks: '', key: 'sk-1' }), [
    ...['--key-stdin', '--level', 'logs', '--no-networks'],
  ]);
  t.same(providerFlags(settings, { ...draft, withoutKey: true, networks: 'fd00::/8', tokensPerDay: '5' }), [
    ...['--without-key', '--network', 'fd00::/8', '--tokens-per-day', '5'],
  ]);
  t.same(providerFlags(null, { ...providerDraft(null), url: 'https://a.example', model: 'm' }), [
    ...['--url', 'https://a.example', '--model', 'm'],
  ]);
  t.end();
});

t.test('the form says when another address removes the key', (t) => {
  t.notOk(dropsKey(settings, draft));
  t.notOk(dropsKey(settings, { ...draft, url: `${settings.url}/ ` }), 'the same address');
  t.ok(dropsKey(settings, { ...draft, url: 'https://other.example.com/v1' }));
  t.notOk(dropsKey(settings, { ...draft, url: 'https://other.example.com/v1', key: 'new' }));
  t.notOk(dropsKey({ ...settings, key: false }, { ...draft, url: 'https://other.example.com/v1' }));
  t.end();
});
