import type { LogDrainView } from '../../runtime/contracts/api/log-drain.ts';
import { startLogReceiver } from './log-receiver.ts';
import { eventually, type Platform } from './platform.ts';

/** The log drain of a running platform, until the test ends. */
interface DrainedPlatform {
  /** Waits until a line with this text has arrived, from this namespace. */
  arrived(text: string, namespace: string): Promise<void>;
  /** The view, and whether each request had the token, which is in no output of the command line. */
  state(): Promise<LogDrainView & { isAuthorized: boolean; isSecret: boolean }>;
}

/** Sets the log drain to a receiver at this address of the machine. */
export async function drainPlatform(
  t: { teardown(end: () => unknown): void },
  platform: Platform,
  host: string,
): Promise<DrainedPlatform> {
  const receiver = await startLogReceiver(t, { host });
  const token = 'token-of-the-log-drain';
  t.teardown(() => platform.ok(['platform', 'log-drain', 'remove']));
  const flags = ['--url', `${receiver.url}/push`, '--format', 'json', '--network', host, '--token-stdin'];
  const outputs = [await platform.ok(['platform', 'log-drain', 'set', ...flags], token)];
  outputs.push(await platform.ok(['platform', 'log-drain', 'test']));
  // From then on, the drain has a position: the platform logs requests, such as these.
  const show = () => platform.json<LogDrainView>(['platform', 'log-drain', 'show']);
  await eventually(show, ({ lastSentAt }) => lastSentAt !== undefined);
  return {
    arrived: async (text, namespace) => {
      await eventually(
        () => Promise.resolve(receiver.lines()),
        (lines) => lines.some((line) => line.namespace === namespace && line.line.includes(text)),
      );
    },
    state: async () => {
      const view = await show();
      return {
        ...view,
        isAuthorized: receiver.received.every(({ headers }) => headers.authorization === `Bearer ${token}`),
        isSecret: ![...outputs, JSON.stringify(view)].some((output) => output.includes(token)),
      };
    },
  };
}
