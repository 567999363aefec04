import type { Test } from 'tap';
import { createAssistantRoutes } from '../../../functions/assistant/handler.ts';
import { createAuthenticate } from '../../../functions/sessions/authenticate.ts';
import type { ProjectRedact } from '../../../runtime/assistant/project-redact.ts';
import { createRedact } from '../../../runtime/assistant/redaction.ts';
import { createProjectAccess } from '../../../runtime/api/project-access.ts';
import { answerEvent, type AnswerEvent } from '../../../runtime/contracts/api/assistant.ts';
import { assistantKeyContext, type AssistantLevel } from '../../../runtime/domain/assistant.ts';
import { systemClock } from '../../../runtime/domain/clock.ts';
import { newId } from '../../../runtime/domain/ids.ts';
import { seal } from '../../../runtime/domain/sealed.ts';
import type { RecordAudit } from '../../../runtime/records/audit-entries.ts';
import { setAssistantProvider } from '../../../runtime/records/assistant.ts';
import { testApi } from '../../support/api.ts';
import { fakeKube } from '../../support/fake-kube.ts';
import { testKeyRing } from '../../support/key-ring.ts';
import { recordingLog } from '../../support/log.ts';
import { readyProject } from '../../support/objects.ts';
import { signedIn, type Person } from '../../support/people.ts';
import { testDatabase } from '../../support/postgres.ts';
import { startScriptedProvider, type ScriptStep } from '../../support/scripted-provider.ts';
import { testTools, type Handlers } from '../../support/tools.ts';

/** A secret of the project that the tests hide. */
export const password = 'correct-horse-battery';

interface RigOptions {
  script?: ScriptStep[];
  level?: AssistantLevel;
  handlers?: Handlers;
  projectRedact?: ProjectRedact;
  recordAudit?: RecordAudit;
  silenceMs?: number;
  timeoutMs?: number;
  messagesPerHour?: number;
  tokensPerDay?: number;
  /** Default: a provider is set. */
  configured?: boolean;
}

/** The routes of the assistant with a scripted provider; dana is a deployer of `shop`, vera a viewer. */
export async function assistantRig(t: Test, options: RigOptions = {}) {
  const { level = 'logs', handlers = {}, configured = true, messagesPerHour = 100, tokensPerDay = 1_000_000 } = options;
  const { pool } = await testDatabase(t);
  const provider = await startScriptedProvider(t, options.script);
  const kube = fakeKube();
  const [shopId, blogId] = [newId(), newId()];
  for (const [name, id] of [
    ['shop', shopId],
    ['blog', blogId],
  ] as const) {
    const [project, ...rest] = readyProject(name);
    if (project) kube.seed({ ...project, metadata: { ...project.metadata, labels: { 'platform.svc/id': id } } });
    kube.seed(...rest);
  }
  const { authorize } = createProjectAccess({ kube, pool });
  const keyRing = testKeyRing();
  const audits: Record<string, unknown>[] = [];
  const recorded = recordingLog();
  const routes = createAssistantRoutes({
    pool,
    keyRing,
    clock: systemClock,
    kube,
    tools: await testTools({
      handlers,
      authorize,
      projectRedact: options.projectRedact ?? (async () => createRedact([password])),
    }),
    projectRedact: options.projectRedact ?? (async () => createRedact([password])),
    recordAudit:
      options.recordAudit ??
      (async ({ line }) => {
        audits.push(line);
      }),
    ...(options.silenceMs !== undefined && { silenceMs: options.silenceMs }),
    ...(options.timeoutMs !== undefined && { timeoutMs: options.timeoutMs }),
  });
  const authenticate = createAuthenticate({ pool, clock: systemClock, baseUrl: 'http://console.test' });
  const api = await testApi(t, { routes, authenticate, authorize, log: recorded.log });
  if (configured) {
    await setAssistantProvider(pool, {
      url: provider.url,
      model: 'm',
      key: seal(keyRing, assistantKeyContext(provider.url), 'provider-key'),
      level,
      networks: ['127.0.0.0/8'],
      messagesPerHour,
      tokensPerDay,
    });
  }
  const dana = await signedIn(pool, 'dana', { projects: { [shopId]: 'deployer' } });
  const vera = await signedIn(pool, 'vera', { projects: { [shopId]: 'viewer', [blogId]: 'viewer' } });
  const root = '/api/v1/projects/shop/assistant/conversations';

  const begin = async ({ headers }: Person = dana) => {
    const { status, body } = await api.call('POST', root, { headers });
    if (status !== 201) throw new Error(`no conversation: ${status}`);
    return String(body.id);
  };
  /** Asks in a conversation, and reads the answer to its end. */
  const ask = async (body: object, { person = dana, id }: { person?: Person; id?: string } = {}) => {
    const conversation = id ?? (await begin(person));
    const {
      status,
      text,
      body: parsed,
    } = await api.call('POST', `${root}/${conversation}/messages`, { headers: person.headers, body });
    if (status !== 200) return { status, code: String(parsed.code), conversation, events: [], text: '', body: parsed };
    const events: AnswerEvent[] = text
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => answerEvent.parse(JSON.parse(line)));
    const last = events.at(-1);
    return {
      status,
      code: last?.type === 'error' ? last.code : last?.type,
      conversation,
      events,
      text: events.flatMap((event) => (event.type === 'text' ? [event.text] : [])).join(''),
      body: parsed,
    };
  };
  return { pool, api, provider, kube, audits, recorded, dana, vera, root, begin, ask, shopId, blogId, keyRing };
}
