import { useQuery } from '@tanstack/react-query';
import { useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { useState } from 'react';
import type { ImageView } from '../../../../runtime/contracts/api/images.ts';
import { commandOf, placeFlags } from '../api/command.ts';
import { listQuery, type Place } from '../api/queries.ts';
import { useMay } from '../api/role.ts';
import { Crumbs } from '../environment/crumbs.tsx';
import { ObjectLinks } from '../environment/object-links.tsx';
import { bytes } from '../environment/rows.ts';
import { State } from '../parts/badge.tsx';
import { Button } from '../parts/button.tsx';
import { Select } from '../parts/choice.tsx';
import { Command, Empty } from '../parts/command.tsx';
import { Loaded } from '../parts/loaded.tsx';
import { Note } from '../parts/note.tsx';
import { cellLook, Cells, Heading, rowLook, wideCellLook } from '../parts/page.tsx';
import { Time } from '../parts/time.tsx';
import { text } from '../text/common.ts';
import { imageText as words } from '../text/images.ts';
import { DeleteImageDialog, PruneDialog } from './image-dialogs.tsx';
import { imagesQuery } from './queries.ts';
import { mayBeDeleted, revisionTexts } from './revisions.ts';

const route = '/frame/projects/$project/environments/$environment';

/** The images that builds made for an environment. */
export function Images() {
  const place = useParams({ from: route });
  const { app } = useSearch({ from: `${route}/images` });
  const mayDelete = useMay(place.project, 'deployer');
  const [chosen, setChosen] = useState<ImageView>();
  const [isPruning, setPruning] = useState(false);
  const [requested, setRequested] = useState<number>();
  const flags = placeFlags(place);
  return (
    <>
      <Crumbs {...place} />
      <Heading title={words.title}>
        <span className="flex-1" />
        {mayDelete && <Button onClick={() => setPruning(true)}>{words.prune.open}</Button>}
      </Heading>
      <div className="flex flex-col gap-4">
        <p className="text-sm">{words.hint}</p>
        <AppChoice place={place} app={app} />
        {requested !== undefined && <Note look="good">{words.requested(requested)}</Note>}
        <Loaded query={useQuery(imagesQuery(place, app))}>
          {({ items, nextCursor }) =>
            items.length === 0 ? (
              <Empty
                title={app === undefined ? words.empty : words.emptyOf(app)}
                hint={words.emptyHint}
                command={commandOf('deploy', '.', '--name', app ?? 'site', ...flags)}
              />
            ) : (
              <>
                <ImageTable place={place} images={items} {...(mayDelete && { remove: setChosen })} />
                {nextCursor !== undefined && <p className="text-sm">{text.errors.partial}</p>}
                <Command command={commandOf('image', 'list', ...(app === undefined ? [] : ['--app', app]), ...flags)} />
              </>
            )
          }
        </Loaded>
      </div>
      {chosen && (
        <DeleteImageDialog place={place} image={chosen} close={() => setChosen(undefined)} done={setRequested} />
      )}
      {isPruning && mayDelete && (
        <PruneDialog place={place} app={app} close={() => setPruning(false)} done={setRequested} />
      )}
    </>
  );
}

/** Which app's images are shown; the address says it. */
function AppChoice({ place, app }: { place: Place; app: string | undefined }) {
  const navigate = useNavigate();
  const names = useQuery(listQuery('apps', place)).data?.items.map(({ name }) => name) ?? [];
  // Also one that the list does not have, such as an app that was deleted.
  const all = app === undefined || names.includes(app) ? names : [app, ...names];
  return (
    <div className="max-w-xs text-sm">
      <Select
        label={words.app}
        value={app ?? ''}
        options={[{ value: '', label: words.allApps }, ...all.map((value) => ({ value }))]}
        onChange={({ target }) =>
          void navigate({
            to: '/projects/$project/environments/$environment/images',
            params: place,
            search: target.value === '' ? {} : { app: target.value },
          })
        }
      />
    </div>
  );
}

interface TableProps {
  place: Place;
  images: readonly ImageView[];
  /** Absent for who may not delete images. */
  remove?: (image: ImageView) => void;
}

function ImageTable({ place, images, remove }: TableProps) {
  return (
    <table className="w-full text-sm">
      <Cells
        heads={[
          { title: words.image },
          { title: words.app, wide: true },
          { title: words.revisions, wide: true },
          { title: words.size, wide: true },
          { title: words.use },
          { title: words.status },
          { title: words.built, wide: true },
          ...(remove ? [{ title: words.actions }] : []),
        ]}
      />
      <tbody>
        {images.map((image) => (
          <tr key={image.id} className={rowLook}>
            <th scope="row" className={`${cellLook} text-left font-medium wrap-anywhere`} title={image.digest}>
              {image.name}
            </th>
            <td className={wideCellLook}>
              <ObjectLinks place={place} items={[{ kind: 'app', name: image.app, remark: '' }]} />
            </td>
            <td className={wideCellLook}>{revisionsOf(image)}</td>
            <td className={wideCellLook}>{bytes(image.sizeBytes) ?? text.none}</td>
            <td className={cellLook}>{useOf(image)}</td>
            <td className={`${cellLook} wrap-anywhere`}>
              <State state={image.status} />
              {image.message !== undefined && <p className="mt-1 text-xs">{image.message}</p>}
            </td>
            <td className={wideCellLook}>
              <Time at={image.builtAt} />
            </td>
            {remove && (
              <td className={cellLook}>
                {mayBeDeleted(image) && (
                  <Button aria-label={words.deleteName(image.name)} onClick={() => remove(image)}>
                    {words.delete}
                  </Button>
                )}
              </td>
            )}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function revisionsOf(image: ImageView): string {
  const { texts, more } = revisionTexts(image);
  if (texts.length === 0) return text.none;
  return more === 0 ? texts.join(', ') : `${texts.join(', ')} ${words.more(more)}`;
}

function useOf({ inUse, usedBy }: ImageView): string {
  if (usedBy) return words.usedBy(usedBy.app, usedBy.revision, usedBy.environment);
  return inUse ? words.inUse : words.unused;
}
