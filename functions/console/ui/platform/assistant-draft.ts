import type { AssistantSettingsView } from '../../../../runtime/contracts/api/assistant.ts';
import { assistantDefaults, type AssistantLevel } from '../../../../runtime/domain/assistant.ts';

/** The fields of the form, as texts; the API checks them. */
export interface ProviderDraft {
  url: string;
  model: string;
  /** Empty: the current key stays. */
  key: string;
  withoutKey: boolean;
  level: AssistantLevel;
  /** One on each line. */
  networks: string;
  messagesPerHour: string;
  tokensPerDay: string;
}

/** The current settings; null: there is no provider yet. */
export function providerDraft(settings: AssistantSettingsView | null): ProviderDraft {
  const {
    url = '',
    model = '',
    level = assistantDefaults.level,
    networks = [],
    messagesPerHour = assistantDefaults.messagesPerHour,
    tokensPerDay = assistantDefaults.tokensPerDay,
  } = settings ?? {};
  return {
    url,
    model,
    key: '',
    withoutKey: false,
    level,
    networks: networks.join('\n'),
    messagesPerHour: String(messagesPerHour),
    tokensPerDay: String(tokensPerDay),
  };
}

const networksOf = (lines: string): string[] => lines.split(/\s+/).filter((word) => word !== '');

/** The body of the request, which replaces all settings but the key. */
export function providerBody(draft: ProviderDraft): Record<string, unknown> {
  const { url, model, key, withoutKey, level, networks, messagesPerHour, tokensPerDay } = draft;
  return {
    url: url.trim(),
    model: model.trim(),
    ...(withoutKey ? { key: null } : key !== '' && { key }),
    level,
    networks: networksOf(networks),
    messagesPerHour: Number(messagesPerHour),
    tokensPerDay: Number(tokensPerDay),
  };
}

/** Whether the current key is removed because it belongs to another address. */
export function dropsKey(settings: AssistantSettingsView | null, { url, key, withoutKey }: ProviderDraft): boolean {
  if (!settings?.key || key !== '' || withoutKey) return false;
  return url.trim().replace(/(?<!\/)\/+$/, '') !== settings.url;
}

/** The flags of `svc platform assistant set` for what differs. The key is never one of them. */
export function providerFlags(settings: AssistantSettingsView | null, draft: ProviderDraft): string[] {
  const before = providerDraft(settings);
  const changed = (flag: string, field: Exclude<keyof ProviderDraft, 'withoutKey'>) =>
    draft[field].trim() === before[field] ? [] : [flag, draft[field].trim()];
  const networks = networksOf(draft.networks);
  const isSame = networks.join('\n') === before.networks;
  return [
    ...changed('--url', 'url'),
    ...changed('--model', 'model'),
    ...(draft.withoutKey ? ['--without-key'] : draft.key === '' ? [] : ['--key-stdin']),
    ...changed('--level', 'level'),
    ...(isSame ? [] : networks.length === 0 ? ['--no-networks'] : networks.flatMap((each) => ['--network', each])),
    ...changed('--messages-per-hour', 'messagesPerHour'),
    ...changed('--tokens-per-day', 'tokensPerDay'),
  ];
}
