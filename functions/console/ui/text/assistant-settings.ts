import type { AssistantLevel } from '../../../../runtime/domain/assistant.ts';

/** What each level adds for the provider. A test compares it with what the API says. */
const sends: Readonly<Record<AssistantLevel, readonly string[]>> = {
  names: [
    'your questions, the files that you attach, and which page you look at',
    'names of projects, environments, apps, functions, jobs, services, volumes, plans, keys, images and secrets',
  ],
  state: ['status, settings without values of variables, deployments with their commits, metrics, usage and alerts'],
  logs: ['log lines, output of builds, errors of events, and email addresses of users'],
};

/** The texts of the page with the provider of the assistant. */
export const assistantSettingsText = {
  title: 'Provider of the assistant',
  none: 'The assistant has no AI provider.',
  noneHint:
    'Without one, nothing is sent anywhere. Any server with the chat completions of OpenAI works, if its model supports tools:',
  set: 'Set a provider',
  edit: 'Edit',
  save: 'Save',
  facts: {
    url: 'Base address',
    model: 'Model',
    key: 'API key',
    level: 'Data level',
    networks: 'Private networks',
    messages: 'Messages',
    tokens: 'Tokens today',
    changed: 'Last change',
  },
  keySet: 'set, never shown',
  keyMissing: 'none',
  onInternet: 'none: the address must be on the internet',
  messages: (count: number) => `${count.toLocaleString('en')} per user and hour`,
  tokens: (used: number, limit: number) => `${used.toLocaleString('en')} of ${limit.toLocaleString('en')}`,
  test: {
    button: 'Test',
    pending: 'Testing…',
    hint: 'A test asks the model for one word.',
    ok: (model: string, ms: number) => `${model} answered within ${ms.toLocaleString('en')} ms.`,
    failed: (reason: string) => `The provider gave no answer: ${reason}.`,
  },
  disable: {
    button: 'Disable',
    title: 'Disable the assistant?',
    what: 'The provider and its key are forgotten, and nobody can ask. Conversations are kept for 30 days.',
  },
  form: {
    url: 'Base address, such as https://api.openai.com/v1',
    model: 'Model',
    key: 'API key',
    keyKept: 'API key (empty: keep the current one)',
    withoutKey: 'Remove the API key',
    level: 'Data level',
    networks: 'Private networks in which the address may be, one on each line, such as 10.20.0.0/16',
    messagesPerHour: 'Messages of a user per hour',
    tokensPerDay: 'Tokens of all users per day',
    keyDropped: 'The key belongs to the address before. With another address, it is removed: enter it again.',
    plainText: 'This address is not encrypted: questions and the key are sent in plain text.',
  },
  levels: {
    title: 'What is sent',
    level: 'Data level',
    sends,
    gets: 'The provider gets',
    also: 'also',
    active: 'active',
    masked:
      'Values of secrets and variables are sent at no level. Known secrets of the project are masked in everything, also in questions and files.',
    names: { names: 'names', state: 'state', logs: 'logs' },
  },
} as const;
