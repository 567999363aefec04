import { useState } from 'react';
import type { z } from 'zod';
import type { imagesPruned, ImageView } from '../../../../runtime/contracts/api/images.ts';
import { keptImagesRange } from '../../../../runtime/domain/platform-profile.ts';
import { useChange } from '../api/change.ts';
import { commandOf, placeFlags } from '../api/command.ts';
import type { Place } from '../api/queries.ts';
import { Field } from '../parts/field.tsx';
import { FormDialog } from '../parts/form-dialog.tsx';
import { imageText as words } from '../text/images.ts';

interface DialogProps {
  place: Place;
  close: () => void;
  /** Gets how many images are being deleted. */
  done: (count: number) => void;
}

/** Deletes one image. */
export function DeleteImageDialog({ place, image, close, done }: DialogProps & { image: ImageView }) {
  const { id, name, revisions } = image;
  const remove = useChange<ImageView>(place, () => {
    close();
    done(1);
  });
  return (
    <FormDialog
      title={words.deleteTitle(name)}
      close={close}
      action={words.delete}
      look="danger"
      command={commandOf('image', 'delete', name, ...placeFlags(place))}
      request={remove}
      submit={() => remove.mutate({ path: ['images', id], method: 'DELETE' })}
    >
      <p>{words.deleteWhat(revisions.length)}</p>
    </FormDialog>
  );
}

type Pruned = z.infer<typeof imagesPruned>;

/** Deletes what nothing uses. The first step shows the images, the second one deletes them. */
export function PruneDialog({ place, app, close, done }: DialogProps & { app: string | undefined }) {
  const [keep, setKeep] = useState('');
  const [plan, setPlan] = useState<Pruned>();
  const prune = useChange<Pruned>(place, (result, { body }) => {
    if ((body as { dryRun: boolean }).dryRun) {
      setPlan(result);
      return;
    }
    close();
    done(result.images.length);
  });
  const count = plan?.images.length ?? 0;
  const flags = [...(keep === '' ? [] : ['--keep', keep]), ...(app === undefined ? [] : ['--app', app])];
  return (
    <FormDialog
      title={words.prune.title}
      close={close}
      action={count === 0 ? words.prune.show : words.prune.delete(count)}
      look={count === 0 ? 'primary' : 'danger'}
      command={commandOf('image', 'prune', ...flags, ...(count === 0 ? ['--dry-run'] : []), ...placeFlags(place))}
      request={prune}
      submit={() => {
        const body = {
          ...(keep !== '' && { keep: Number(keep) }),
          ...(app !== undefined && { app }),
          dryRun: count === 0,
        };
        prune.mutate({ path: ['images', 'prune'], method: 'POST', body });
      }}
    >
      <p>{words.prune.what}</p>
      {app !== undefined && (
        <p>
          {words.app}: {app}
        </p>
      )}
      <Field
        label={words.prune.keep}
        type="number"
        min={keptImagesRange.min}
        max={keptImagesRange.max}
        value={keep}
        onChange={({ target }) => {
          setKeep(target.value);
          // What was shown is not what another number deletes.
          setPlan(undefined);
        }}
      />
      <div role="status">
        {plan && count === 0 && <p>{words.prune.none}</p>}
        {plan && count > 0 && (
          <>
            <p>{words.prune.planned(count, plan.keep)}</p>
            <ul className="mt-1 max-h-40 overflow-y-auto" tabIndex={0} aria-label={words.title}>
              {plan.images.map(({ id, name }) => (
                <li key={id} className="font-mono text-xs wrap-anywhere">
                  {name}
                </li>
              ))}
            </ul>
            {plan.more && <p>{words.prune.more}</p>}
          </>
        )}
      </div>
    </FormDialog>
  );
}
