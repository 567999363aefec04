import { useQuery } from '@tanstack/react-query';
import { Link, useParams } from '@tanstack/react-router';
import { useState } from 'react';
import type { KeyView } from '../../../../runtime/contracts/api/keys.ts';
import { useChange } from '../api/change.ts';
import { commandOf, placeFlags } from '../api/command.ts';
import type { Place } from '../api/queries.ts';
import { useMay } from '../api/role.ts';
import { Crumbs } from '../environment/crumbs.tsx';
import { Button } from '../parts/button.tsx';
import { Command, Empty } from '../parts/command.tsx';
import { FormDialog } from '../parts/form-dialog.tsx';
import { Loaded } from '../parts/loaded.tsx';
import { ErrorNote } from '../parts/note.tsx';
import { cellLook, Cells, Heading, linkLook, rowLook, wideCellLook, wordLook } from '../parts/page.tsx';
import { useCreation } from '../shell/creation.ts';
import { text } from '../text/common.ts';
import { keyText } from '../text/keys.ts';
import { createBody, createWords } from './key-draft.ts';
import { keyDraftIn, KeyFields } from './key-fields.tsx';
import { KeyState } from './key-state.tsx';
import { NewKeyDialog, type NewKey } from './new-key.tsx';
import { keysQuery, planNamesQuery, plansQuery } from './queries.ts';

const words = keyText.keys;

/** The API keys of an environment. */
export function Keys() {
  const place = useParams({ from: '/frame/projects/$project/environments/$environment' });
  const mayChange = useMay(place.project, 'admin');
  const plansRead = useQuery(plansQuery(place));
  const plans = plansRead.data?.items;
  const [creates, setCreates] = useCreation();
  const mayCreate = mayChange && plans !== undefined && plans.length > 0;
  const [created, setCreated] = useState<NewKey>();
  return (
    <>
      <Crumbs {...place} />
      <Heading title={words.title}>
        <span className="flex-1" />
        {mayCreate && (
          <Button look="primary" onClick={() => setCreates(true)}>
            {words.create}
          </Button>
        )}
      </Heading>
      {mayChange && plans === undefined && plansRead.error && (
        // Without the plans, there is no button to create a key.
        <ErrorNote error={plansRead.error} retry={() => void plansRead.refetch()} />
      )}
      <Loaded query={useQuery(keysQuery(place))}>
        {({ items, nextCursor }) =>
          items.length === 0 ? (
            <Empty
              title={words.empty}
              hint={plans?.length === 0 ? words.noPlans : words.emptyHint}
              command={
                plans?.length === 0
                  ? commandOf('plan', 'create', 'small', '--rate', '5', '--burst', '10', ...placeFlags(place))
                  : commandOf('key', 'create', '--plan', plans?.[0]?.name ?? 'small', ...placeFlags(place))
              }
            />
          ) : (
            <>
              <KeyTable place={place} keys={items} />
              {nextCursor !== undefined && <p className="mb-4 text-sm">{text.errors.partial}</p>}
              <Command command={commandOf('key', 'list', ...placeFlags(place))} />
            </>
          )
        }
      </Loaded>
      {creates && mayCreate && <CreateDialog place={place} close={() => setCreates(false)} done={setCreated} />}
      {created && <NewKeyDialog created={created} close={() => setCreated(undefined)} />}
    </>
  );
}

function KeyTable({ place, keys }: { place: Place; keys: readonly KeyView[] }) {
  return (
    <table className="mb-4 w-full text-sm">
      <Cells
        heads={[
          { title: words.key },
          { title: words.name },
          { title: words.plan, wide: true },
          { title: words.status },
          { title: words.allowed, wide: true },
          { title: words.denied, wide: true },
          { title: words.lastSeen, wide: true },
        ]}
      />
      <tbody>
        {keys.map(({ handle, name, plan, usage, ...state }) => (
          <tr key={handle} className={rowLook}>
            <th scope="row" className={`${cellLook} ${wordLook} text-left font-mono`}>
              <Link
                to="/projects/$project/environments/$environment/keys/$key"
                params={{ ...place, key: handle }}
                className={linkLook}
              >
                {handle}
              </Link>
            </th>
            <td className={cellLook}>{name ?? text.none}</td>
            <td className={wideCellLook}>{plan}</td>
            <td className={cellLook}>
              <KeyState {...state} />
            </td>
            <td className={wideCellLook}>{usage.allowed.toLocaleString('en')}</td>
            <td className={wideCellLook}>{(usage.rateDenied + usage.quotaDenied).toLocaleString('en')}</td>
            <td className={wideCellLook}>{usage.lastSeen ?? text.none}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function CreateDialog({ place, close, done }: { place: Place; close: () => void; done: (key: NewKey) => void }) {
  const create = useChange<NewKey>(place, (key) => {
    close();
    done(key);
  });
  const plan = useQuery(plansQuery(place)).data?.items[0]?.name ?? 'small';
  // Without plans there is none to choose, and the browser would keep the form back without a word.
  const names = useQuery(planNamesQuery(place));
  return (
    <FormDialog
      title={words.create}
      close={close}
      action={words.create}
      waits={names.isPending}
      disabled={!names.data?.length}
      command={commandOf('key', 'create', '--plan', plan, ...placeFlags(place))}
      commandFor={(form) => commandOf(...createWords(keyDraftIn(form)), ...placeFlags(place))}
      request={create}
      submit={(form) => create.mutate({ path: ['api-keys'], method: 'POST', body: createBody(keyDraftIn(form)) })}
    >
      <KeyFields place={place} />
    </FormDialog>
  );
}
