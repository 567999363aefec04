import type { LookupFunction } from 'node:net';
import type { Pool } from 'pg';
import { chat } from '../../runtime/assistant/provider.ts';
import type { Provider } from '../../runtime/assistant/provider-connection.ts';
import { ProviderError } from '../../runtime/assistant/provider-error.ts';
import { openProvider } from '../../runtime/assistant/stored-provider.ts';
import { checkNetworks } from '../../runtime/api/receiver-address.ts';
import { createUserPlaces } from '../../runtime/api/user-places.ts';
import type { AssistantSettingsView } from '../../runtime/contracts/api/assistant.ts';
import { assistantKeyContext } from '../../runtime/domain/assistant.ts';
import type { Clock } from '../../runtime/domain/clock.ts';
import { periodStart } from '../../runtime/domain/period.ts';
import { Problem } from '../../runtime/domain/problem.ts';
import { seal, type KeyRing } from '../../runtime/domain/sealed.ts';
import { route, sessionOf, type Route } from '../../runtime/http/route.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import {
  deleteAssistantProvider,
  findAssistantProvider,
  readAssistantTokens,
  setAssistantProvider,
  type AssistantProvider,
} from '../../runtime/records/assistant.ts';
import { checkProviderKey, checkProviderUrl } from './check.ts';
import { deleteProviderSchema, getProviderSchema, setProviderSchema, testProviderSchema } from './schema.ts';

export interface AssistantProviderDependencies {
  pool: Pool;
  keyRing: KeyRing;
  clock: Clock;
  kube: Pick<KubeClient, 'get'>;
  /** Default: the system's resolver. */
  lookup?: LookupFunction;
  /** Of a test; default 30 s. */
  testTimeoutMs?: number;
}

const tag = 'platform';
const path = '/platform/assistant';

/** `/platform/assistant`: the provider of the assistant, and what may be sent to it. */
export function createAssistantProviderRoutes({
  pool,
  keyRing,
  clock,
  kube,
  lookup,
  testTimeoutMs = 30_000,
}: AssistantProviderDependencies): Route[] {
  const tests = createUserPlaces({ total: 5, perUser: 1, what: 'tests of the provider' });

  const toView = async (provider: AssistantProvider): Promise<AssistantSettingsView> => {
    const { key, createdAt, updatedAt, ...settings } = provider;
    const { all } = await readAssistantTokens(pool, periodStart('day', clock.now()));
    const times = { createdAt: createdAt.toISOString(), updatedAt: updatedAt.toISOString() };
    return { ...settings, key: key !== null, tokensToday: all, ...times };
  };
  // Only the origin of the address, because its path may name an account.
  const auditOf = ({ url, model, key, level, networks, messagesPerHour, tokensPerDay }: AssistantProvider) => ({
    assistant: {
      origin: new URL(url).origin,
      model,
      key: key !== null,
      level,
      networks,
      messagesPerHour,
      tokensPerDay,
    },
  });

  return [
    route({
      ...getProviderSchema,
      method: 'GET',
      path,
      access: 'platform-admin',
      tag,
      summary: 'Shows the provider of the assistant and its limits, without the key.',
      async handle() {
        return { status: 200, body: await toView((await findAssistantProvider(pool)) ?? notFound()) };
      },
    }),
    route({
      ...setProviderSchema,
      method: 'PUT',
      path,
      access: 'platform-admin',
      tag,
      summary: 'Sets the provider of the assistant: an OpenAI-compatible server, and what may be sent to it.',
      audit: 'platform.assistant.set',
      async handle({ body: { url: typed, key, networks, ...settings } }) {
        const allowed = checkNetworks(networks);
        const url = checkProviderUrl(typed, allowed);
        if (typeof key === 'string') checkProviderKey(key);
        const provider = await setAssistantProvider(pool, {
          ...settings,
          url,
          networks: allowed,
          key: typeof key === 'string' ? seal(keyRing, assistantKeyContext(url), key) : key,
        });
        return { status: 200, body: await toView(provider), audit: auditOf(provider) };
      },
    }),
    route({
      ...testProviderSchema,
      method: 'POST',
      path: `${path}/test`,
      access: 'platform-admin',
      tag,
      summary: 'Asks the model for one word, with a tool that it could call.',
      audit: 'platform.assistant.test',
      async handle(request) {
        const stored = (await findAssistantProvider(pool)) ?? notFound();
        const place = tests.enter(sessionOf(request).userId);
        try {
          const provider = await openProvider(stored, { keyRing, kube, lookup, silenceMs: testTimeoutMs });
          const started = clock.monotonic();
          const signal = AbortSignal.any([request.signal, place.signal]);
          const fault = await tryProvider(provider, signal, testTimeoutMs);
          const milliseconds = Math.round(clock.monotonic() - started);
          const result = { status: fault ? ('failed' as const) : ('ok' as const), model: stored.model, milliseconds };
          return {
            status: 200,
            body: { ...result, ...(fault && { code: fault.code, error: fault.message }) },
            audit: auditOf(stored),
          };
        } finally {
          place.leave();
        }
      },
    }),
    route({
      ...deleteProviderSchema,
      method: 'DELETE',
      path,
      access: 'platform-admin',
      tag,
      summary: 'Disables the assistant, and forgets the provider with its key. Conversations are kept.',
      audit: 'platform.assistant.remove',
      async handle() {
        const provider = (await deleteAssistantProvider(pool)) ?? notFound();
        return { status: 204, audit: auditOf(provider) };
      },
    }),
  ];
}

/** A tool as a model gets it, since some models do not take any. */
const testTool = {
  name: 'show_time',
  description: 'Shows the current time. Not needed for this answer.',
  inputSchema: { type: 'object', properties: {}, required: [], additionalProperties: false },
  readOnly: true,
};

/** @returns why the provider gave no answer; undefined when it gave one */
async function tryProvider(
  provider: Provider,
  signal: AbortSignal,
  timeoutMs: number,
): Promise<ProviderError | undefined> {
  const messages = [{ role: 'user' as const, content: 'Answer with the word OK.' }];
  try {
    const stream = chat(provider, { messages, tools: [testTool], mayCall: true, signal, timeoutMs });
    while (!(await stream.next()).done);
    return undefined;
  } catch (error) {
    if (error instanceof ProviderError) return error;
    throw error;
  }
}

function notFound(): never {
  throw new Problem('not_found', 'The assistant has no provider. Set one: svc platform assistant set');
}
