import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { DeadLetterView } from '../../../../runtime/contracts/api/functions.ts';
import { useChange } from '../api/change.ts';
import { commandOf, placeFlags } from '../api/command.ts';
import { Button } from '../parts/button.tsx';
import { Command, Empty } from '../parts/command.tsx';
import { FormDialog } from '../parts/form-dialog.tsx';
import { Loaded } from '../parts/loaded.tsx';
import { Note } from '../parts/note.tsx';
import { cellLook, Cells, rowLook, wideCellLook } from '../parts/page.tsx';
import { Time } from '../parts/time.tsx';
import { text } from '../text/common.ts';
import { functionText } from '../text/functions.ts';
import { deadLettersQuery } from '../workloads/queries.ts';
import { pathBelow, type Workload } from '../workloads/workload.ts';

const words = functionText.events;

interface Choice {
  action: 'redrive' | 'purge';
  /** Absent for all dead letters. */
  letter?: DeadLetterView;
}

/** The dead letters of a function with their content: each or all can be redriven or purged. */
export function DeadLetters({ workload }: { workload: Workload }) {
  const { place, name } = workload;
  const [choice, setChoice] = useState<Choice>();
  const [outcome, setOutcome] = useState<string>();
  const command = commandOf('function', 'dead-letters', 'list', name, ...placeFlags(place));
  return (
    <section aria-labelledby="dead" className="flex flex-col gap-3">
      <h2 id="dead" className="text-lg font-semibold">
        {words.deadTitle}
      </h2>
      {outcome !== undefined && <Note look="good">{outcome}</Note>}
      <Loaded query={useQuery(deadLettersQuery(workload))}>
        {({ items, nextCursor }) =>
          items.length === 0 ? (
            <Empty title={words.deadEmpty} hint={words.deadHint} command={command} />
          ) : (
            <>
              <span className="flex flex-wrap gap-2">
                <Button onClick={() => setChoice({ action: 'redrive' })}>{words.redrive.all}</Button>
                <Button onClick={() => setChoice({ action: 'purge' })}>{words.purge.all}</Button>
              </span>
              <LetterTable letters={items} choose={setChoice} />
              {nextCursor !== undefined && <p className="text-sm">{text.errors.partial}</p>}
              <Command command={command} />
            </>
          )
        }
      </Loaded>
      {choice && (
        <LetterDialog workload={workload} choice={choice} close={() => setChoice(undefined)} done={setOutcome} />
      )}
    </section>
  );
}

const heads = [
  { title: words.event },
  { title: words.deadAt, wide: true },
  { title: words.failures, wide: true },
  { title: words.payload },
  { title: words.actions },
];

function LetterTable({ letters, choose }: { letters: DeadLetterView[]; choose: (choice: Choice) => void }) {
  return (
    <table className="w-full text-sm">
      <Cells heads={heads} />
      <tbody>
        {letters.map((letter) => (
          <tr key={letter.id} className={rowLook}>
            <th scope="row" className={`${cellLook} text-left font-medium`}>
              {letter.event}
              {letter.lastError !== undefined && <p className="mt-1 text-xs font-normal">{letter.lastError}</p>}
            </th>
            <td className={wideCellLook}>
              <Time at={letter.deadAt} />
            </td>
            <td className={wideCellLook}>{letter.failures}</td>
            <td className={cellLook}>
              {letter.payload === undefined ? (
                words.noPayload
              ) : (
                <details>
                  <summary aria-label={words.payloadOf(letter.event)}>{words.payload}</summary>
                  <pre className="mt-1 text-xs whitespace-pre-wrap">{letter.payload}</pre>
                </details>
              )}
            </td>
            <td className={cellLook}>
              <span className="flex flex-wrap gap-2">
                {(['redrive', 'purge'] as const).map((action) => (
                  <Button
                    key={action}
                    aria-label={words[action].one(letter.event)}
                    onClick={() => choose({ action, letter })}
                  >
                    {words[action].button}
                  </Button>
                ))}
              </span>
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

interface LetterDialogProps {
  workload: Workload;
  choice: Choice;
  close: () => void;
  done: (outcome: string) => void;
}

function LetterDialog({ workload, choice: { action, letter }, close, done }: LetterDialogProps) {
  const { place, name } = workload;
  const change = useChange<{ count: number }>(place, ({ count }) => {
    close();
    done(words[action].done(count));
  });
  const which = letter ? ['--id', letter.id] : ['--all'];
  return (
    <FormDialog
      title={words[action].title(letter?.event ?? words.everyLetter)}
      close={close}
      action={words[action].button}
      look={action === 'purge' ? 'danger' : 'primary'}
      command={commandOf('function', 'dead-letters', action, name, ...which, ...placeFlags(place))}
      request={change}
      submit={() =>
        change.mutate({
          path: pathBelow(workload, 'dead-letters', action),
          method: 'POST',
          body: letter ? { ids: [letter.id] } : { all: true },
        })
      }
    >
      <p>{words[action].effect[letter ? 'one' : 'all']}</p>
    </FormDialog>
  );
}
