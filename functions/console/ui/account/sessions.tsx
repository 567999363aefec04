import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { AccountSession } from '../../../../runtime/contracts/api/sessions.ts';
import { commandOf } from '../api/command.ts';
import { usePlatformChange } from '../api/platform-change.ts';
import { Badge } from '../parts/badge.tsx';
import { Button } from '../parts/button.tsx';
import { Command } from '../parts/command.tsx';
import { FormDialog } from '../parts/form-dialog.tsx';
import { Loaded } from '../parts/loaded.tsx';
import { Note } from '../parts/note.tsx';
import { cellLook, Cells, rowLook, wideCellLook } from '../parts/page.tsx';
import { exactTime, Time } from '../parts/time.tsx';
import { accountText } from '../text/account.ts';
import { text } from '../text/common.ts';
import { accountSessionsQuery } from './queries.ts';

const words = accountText.sessions;

/** Where the user is signed in, and how to end that. */
export function Sessions() {
  const [ended, setEnded] = useState<AccountSession>();
  const [endsOthers, setEndsOthers] = useState(false);
  const [count, setCount] = useState<number>();
  return (
    <section aria-labelledby="sessions" className="flex flex-col gap-4">
      <h2 id="sessions" className="text-lg font-semibold">
        {words.title}
      </h2>
      <p className="text-sm">{words.hint}</p>
      <Loaded query={useQuery(accountSessionsQuery)}>
        {({ items, nextCursor }) => (
          <>
            <SessionTable sessions={items} end={setEnded} />
            {nextCursor !== undefined && <p className="text-sm">{text.errors.partial}</p>}
            {items.some(({ current }) => !current) ? (
              <div>
                <Button onClick={() => setEndsOthers(true)}>{words.endOthers}</Button>
              </div>
            ) : (
              <p className="text-sm">{words.alone}</p>
            )}
            {count !== undefined && <Note look="good">{words.ended(count)}</Note>}
            <Command command={commandOf('session', 'list')} />
          </>
        )}
      </Loaded>
      {ended && <EndDialog session={ended} close={() => setEnded(undefined)} done={() => setCount(1)} />}
      {endsOthers && <EndOthersDialog close={() => setEndsOthers(false)} done={setCount} />}
    </section>
  );
}

interface TableProps {
  sessions: readonly AccountSession[];
  end: (session: AccountSession) => void;
}

function SessionTable({ sessions, end }: TableProps) {
  return (
    <table className="w-full text-sm">
      <Cells
        heads={[
          { title: words.client },
          { title: words.signedIn, wide: true },
          { title: words.lastUse },
          { title: words.expires, wide: true },
          { title: words.actions },
        ]}
      />
      <tbody>
        {sessions.map((session) => (
          <tr key={session.id} className={rowLook}>
            <th scope="row" className={`${cellLook} text-left font-medium`}>
              {session.client ?? words.unknown} {session.current && <Badge tone="good">{words.thisOne}</Badge>}
            </th>
            <td className={wideCellLook}>
              <Time at={session.createdAt} />
            </td>
            <td className={cellLook}>{session.lastUsedAt ? <Time at={session.lastUsedAt} /> : text.none}</td>
            <td className={wideCellLook}>{session.expiresAt.slice(0, 10)}</td>
            <td className={cellLook}>
              {!session.current && (
                <Button aria-label={words.endName(...namesOf(session))} onClick={() => end(session)}>
                  {words.end}
                </Button>
              )}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function namesOf({ client = words.unknown, createdAt }: AccountSession): [client: string, at: string] {
  return [client, exactTime(createdAt)];
}

interface DialogProps<Result> {
  close: () => void;
  done: (result: Result) => void;
}

function EndDialog({ session, close, done }: DialogProps<void> & { session: AccountSession }) {
  const end = usePlatformChange<undefined>('account', () => {
    close();
    done();
  });
  return (
    <FormDialog
      title={words.endTitle}
      close={close}
      action={words.end}
      look="danger"
      command={commandOf('session', 'end', session.id)}
      request={end}
      submit={() => end.mutate({ path: ['account', 'sessions', session.id], method: 'DELETE' })}
    >
      <p>{words.endWhat(...namesOf(session))}</p>
    </FormDialog>
  );
}

function EndOthersDialog({ close, done }: DialogProps<number>) {
  const end = usePlatformChange<{ ended: number }>('account', ({ ended }) => {
    close();
    done(ended);
  });
  return (
    <FormDialog
      title={words.endOthersTitle}
      close={close}
      action={words.endOthers}
      look="danger"
      command={commandOf('session', 'end', '--others')}
      request={end}
      submit={() => end.mutate({ path: ['account', 'sessions'], method: 'DELETE' })}
    >
      <p>{words.endOthersWhat}</p>
    </FormDialog>
  );
}
