import type { AssistantPage } from '../../../../runtime/contracts/api/assistant.ts';
import { includesLevel, type AssistantLevel } from '../../../../runtime/domain/assistant.ts';
import { logSearch } from '../logs/search.ts';
import { assistantText } from '../text/assistant.ts';

const words = assistantText.suggestions;

/** What the address says of a page. */
export interface Address {
  pathname: string;
  params: Readonly<Partial<Record<'environment' | 'app' | 'function' | 'job' | 'service' | 'key', string>>>;
  search: Readonly<Record<string, unknown>>;
}

/** What is known of a deployment of the page's app. */
interface KnownDeployment {
  id: string;
  revision?: number | undefined;
  status: string;
}

/** A name has at most 100 characters in a message. */
const isName = (value: string | undefined): value is string =>
  value !== undefined && value !== '' && value.length <= 100;
/** What surrounds a line of a log, in ms. */
const aroundMs = 60_000;

/** The last part of the path: the tab of an object. */
const tabOf = ({ pathname }: Address): string => pathname.split('/').findLast((part) => part !== '') ?? '';

/**
 * The deployment that a page is about: the one whose differences or build it shows, else the newest one of the app.
 * @param history newest first
 */
export function deploymentOf<Deployment extends KnownDeployment>(
  { params, search }: Address,
  history: readonly Deployment[],
): Deployment | undefined {
  if (params.app === undefined) return undefined;
  const { changes, build } = search;
  const shown = history.find(({ id, revision }) => (revision !== undefined && revision === changes) || id === build);
  return shown ?? history[0];
}

/** The page as a message names it. The API treats all of it as data. */
export function pageOf(address: Address, deployment?: { id: string }): AssistantPage {
  const { params } = address;
  const names = (['environment', 'app', 'function', 'job', 'service'] as const).flatMap((name) => {
    const value = params[name];
    return isName(value) ? [[name, value] as const] : [];
  });
  const hasLog = tabOf(address) === 'logs' && (params.app ?? params.function) !== undefined;
  return {
    ...Object.fromEntries(names),
    ...(deployment && { deployment: deployment.id }),
    ...(hasLog && { logs: logOf(address.search) }),
  };
}

function logOf(search: Readonly<Record<string, unknown>>): NonNullable<AssistantPage['logs']> {
  const { since = '1h', level, pod, q, at } = logSearch({ ...search });
  const time = (offset: number) => new Date(Date.parse(at ?? '') + offset).toISOString();
  return {
    ...(at === undefined ? { since } : { since: time(-aroundMs), until: time(aroundMs) }),
    ...(level && { level }),
    ...(isName(pod) && { pod }),
    ...(q !== undefined && { search: q.slice(0, 200) }),
  };
}

/** The page in words, for the switch that says whether it is sent. */
export function pageText({ logs, ...page }: AssistantPage): string {
  const { labels } = assistantText.page;
  const names = Object.entries(page).map(([name, value]) => `${labels[name as keyof typeof labels]} ${value}`);
  const log = logs === undefined ? [] : [`${labels.logs} (${Object.values(logs).join(', ')})`];
  return [...names, ...log].join(', ');
}

/** A question to choose. */
export interface Suggestion {
  label: string;
  /** What is written into the field; a text that ends with a space is to be completed. */
  text: string;
}

/** The data level that a question needs, so that the assistant can look at what it is about. */
type Offered = readonly [needed: AssistantLevel, label: string];

const mostShown = 4;

/** The questions that fit a page, for what the provider may get. */
export function suggestionsOf(address: Address, level: AssistantLevel, deployment?: { status: string }): Suggestion[] {
  const { params, search } = address;
  const tab = tabOf(address);
  const isShown = search['changes'] !== undefined || search['build'] !== undefined;
  const failed = isShown ? words.deploymentFailed : words.lastDeploymentFailed;
  const name = params.app ?? params.function ?? params.job ?? params.service;
  const all: Offered[] = [
    ...(deployment?.status === 'failed' ? [['state', failed] as const] : []),
    ...(tab === 'logs' ? [['logs', words.explainLog] as const] : []),
    ...(params.key === undefined ? [] : [['state', words.keyQuota(params.key)] as const]),
    ...(tab === 'keys' || tab === 'plans' ? [['state', words.keysQuota] as const] : []),
    ...(params.job === undefined ? [] : [['logs', words.runFailed] as const]),
    ...(tab === 'events' ? [['logs', words.eventsFailed] as const] : []),
    ...(params.app === undefined || deployment === undefined ? [] : [['state', words.lastDeployment] as const]),
    ...(name === undefined ? [] : [['state', words.workloadFailed(name)] as const]),
    ...(name === undefined && params.environment !== undefined ? [['state', words.environment] as const] : []),
    ...(name === undefined && params.key === undefined ? [['names', words.objects] as const] : []),
    ...(params.app === undefined && params.service === undefined
      ? ([
          ['names', words.write],
          ['names', words.cron],
        ] as const)
      : []),
    ...(name === undefined ? [['state', words.keysQuota] as const] : []),
  ];
  const possible = all.filter(([needed]) => includesLevel(level, needed)).map(([, label]) => label);
  return [...new Set(possible)].slice(0, mostShown).map((label) => ({ label, text: label.replace('…', '') }));
}
