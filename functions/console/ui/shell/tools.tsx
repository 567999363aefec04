import { useQuery } from '@tanstack/react-query';
import { useRouter, useRouterState } from '@tanstack/react-router';
import { lazy, Suspense, useEffect, useState } from 'react';
import { sessionQuery } from '../api/queries.ts';
import type { Panel } from '../assistant/use-panel.ts';
import { Button } from '../parts/button.tsx';
import { shellText } from '../text/shell.ts';
import { useShortcuts } from './keyboard.ts';
import { useFindPath, useHere } from './places.ts';
import { rememberObject } from './recent.ts';

// Most pages are left without it, so the first load has none of it.
const Palette = lazy(async () => ({ default: (await import('./palette.tsx')).Palette }));
const ShortcutList = lazy(async () => ({ default: (await import('./shortcut-list.tsx')).ShortcutList }));

/** The buttons of the command palette and the assistant, the keyboard shortcuts, and the record of what the user opens. */
export function Tools({ signOut, panel }: { signOut: () => void; panel: Panel }) {
  const [shown, setShown] = useState<'palette' | 'shortcuts'>();
  const router = useRouter();
  const here = useHere();
  const find = useFindPath();
  const email = useQuery(sessionQuery).data?.email;
  const pathname = useRouterState({ select: ({ location }) => location.pathname });
  useEffect(() => {
    if (email !== undefined) rememberObject(email, pathname);
  }, [email, pathname]);
  useShortcuts({
    openPalette: () => setShown('palette'),
    showHelp: () => setShown('shortcuts'),
    openAssistant: panel.open,
    go: (place) => {
      const path = find(place, here);
      if (path !== undefined) router.history.push(path);
    },
  });
  const close = () => setShown(undefined);
  return (
    <>
      <Button
        onClick={() => setShown('palette')}
        title={shellText.palette.openHint}
        aria-keyshortcuts="Control+K Meta+K"
      >
        {shellText.palette.open}
      </Button>
      <Button
        ref={panel.button}
        onClick={panel.isOpen ? panel.close : panel.open}
        title={shellText.palette.assistantHint}
        aria-expanded={panel.isOpen}
        aria-keyshortcuts="a"
      >
        {shellText.palette.assistant}
      </Button>
      <Suspense>
        {shown === 'palette' && (
          <Palette
            close={close}
            signOut={signOut}
            showShortcuts={() => setShown('shortcuts')}
            openAssistant={panel.open}
          />
        )}
        {shown === 'shortcuts' && <ShortcutList close={close} />}
      </Suspense>
    </>
  );
}
