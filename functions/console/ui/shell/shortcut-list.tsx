import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { sessionQuery } from '../api/queries.ts';
import { Button } from '../parts/button.tsx';
import { Dialog } from '../parts/dialog.tsx';
import { cellLook, Cells, rowLook } from '../parts/page.tsx';
import { shellText } from '../text/shell.ts';
import { text } from '../text/common.ts';
import { enableShortcuts, goKeys, shortcutsEnabled } from './keyboard.ts';
import { adminPlaces, useHasPlace } from './places.ts';

const words = shellText.shortcuts;

/** The list of the keyboard shortcuts, and the switch for them. */
export function ShortcutList({ close }: { close: () => void }) {
  const [enabled, setEnabled] = useState(shortcutsEnabled);
  const hasPlace = useHasPlace();
  const isAdmin = useQuery(sessionQuery).data?.role === 'admin';
  const rows: readonly { keys: readonly string[]; isChoice?: true; effect: string }[] = [
    { keys: ['Ctrl+K'], effect: words.effects.palette },
    { keys: ['/'], effect: words.effects.search },
    { keys: ['a'], effect: words.effects.assistant },
    ...Object.entries(goKeys)
      .filter(([, place]) => hasPlace(place) && (isAdmin || !adminPlaces.includes(place)))
      .map(([key, place]) => ({ keys: ['g', key], effect: words.effects[place] })),
    { keys: ['?'], effect: words.effects.help },
    { keys: ['Esc'], effect: words.effects.close },
    { keys: ['Tab'], effect: words.effects.logLine },
    { keys: ['↑', '↓', 'Home', 'End'], isChoice: true, effect: words.effects.otherLine },
    { keys: ['→', '←'], isChoice: true, effect: words.effects.unfold },
    { keys: ['Enter'], effect: words.effects.link },
  ];
  return (
    <Dialog title={words.title} close={close}>
      <table className="mb-4 w-full text-sm">
        <Cells heads={[{ title: words.keys }, { title: words.effect }]} />
        <tbody>
          {rows.map(({ keys, isChoice, effect }) => (
            <tr key={effect} className={rowLook}>
              <th scope="row" className={`${cellLook} text-left font-normal`}>
                {keys.map((key, index) => (
                  <span key={key} className="whitespace-nowrap">
                    {index > 0 && ` ${isChoice ? words.or : words.next} `}
                    <kbd className="rounded border border-zinc-400 px-1.5 font-mono text-xs dark:border-zinc-600">
                      {key}
                    </kbd>
                  </span>
                ))}
              </th>
              <td className={cellLook}>{effect}</td>
            </tr>
          ))}
        </tbody>
      </table>
      <label className="flex gap-2 text-sm">
        <input
          type="checkbox"
          checked={enabled}
          onChange={({ target: { checked } }) => {
            enableShortcuts(checked);
            setEnabled(checked);
          }}
        />
        {words.enabled}
      </label>
      <p className="mt-1 mb-4 text-xs text-zinc-600 dark:text-zinc-400">{words.enabledHint}</p>
      <div className="flex justify-end">
        <Button onClick={close}>{text.close}</Button>
      </div>
    </Dialog>
  );
}
