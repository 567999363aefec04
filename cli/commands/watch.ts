import { watchMessage, type WatchMessage } from '../../runtime/contracts/api/watch.ts';
import type { scopeFlags } from '../common-flags.ts';
import type { Context } from '../context.ts';
import { Failure } from '../failure.ts';
import type { FlagValues } from '../flags.ts';
import { checkFollowOutput } from '../log-lines.ts';
import { resolveScope } from '../scope.ts';
import { isTemporary } from '../wait.ts';

/** The first and the longest pause before a stream is reopened. */
const pauseMs = 500;
const pauseMaxMs = 10_000;

type Change = Extract<WatchMessage, { kind: string }>;

/** Runs `svc watch`: prints changes until Ctrl-C, and continues after the last one when the stream ends or breaks. */
export async function watchChanges(context: Context, flags: FlagValues<typeof scopeFlags>): Promise<void> {
  const { clock, say, stdout, formatter } = context;
  const { output } = flags;
  checkFollowOutput({ follow: true, output, by: 'svc watch' });
  const scope = resolveScope(context, flags);
  const textOf = (change: Change) => {
    if (output === 'json') return formatter.line(change);
    if (output === 'name') return `${change.name ?? change.kind}\n`;
    const time = clock.now().toISOString().slice(11, 19);
    return `${time} ${change.type.padEnd(8)} ${change.kind} ${placeOf(change)}`.trimEnd() + '\n';
  };
  let cursor: string | undefined;
  let failures = 0;
  for (;;) {
    try {
      for await (const text of scope.api.lines(scope.path('watch'), { ...scope.query, cursor })) {
        failures = 0;
        if (text === '') continue;
        const { data: message } = watchMessage.safeParse(JSON.parse(text));
        // A kind that a newer platform has.
        if (!message) continue;
        if ('kind' in message) stdout.write(textOf(message));
        else if (message.type === 'reset') say('some changes may be missing');
        else if (cursor === undefined) say('watching; stop with Ctrl-C');
        ({ cursor } = message);
      }
    } catch (error) {
      if (!isTemporary(error) && !isBusy(error)) throw error;
      failures += 1;
      if (failures === 1) say('the event stream was interrupted; reconnecting');
    }
    await clock.sleep(Math.min(pauseMaxMs, pauseMs * 2 ** Math.max(0, failures - 1)));
  }
}

/** Whether all event streams are taken. */
function isBusy(error: unknown): boolean {
  return error instanceof Failure && error.code === 'too_many_requests';
}

/** `prod/api`, or what is known of it. */
function placeOf({ environment, name }: Change): string {
  return [environment, name].filter((part) => part !== undefined).join('/');
}
