import { useEffect, useRef } from 'react';
import type { PlaceName } from './places.ts';

const storageKey = 'svc-shortcuts';
/** A sequence such as `g` `p` ends after this time. */
const sequenceMs = 1_500;

/** The second key after `g`, and where it leads. */
export const goKeys = {
  p: 'projects',
  o: 'overview',
  k: 'keys',
  l: 'plans',
  i: 'images',
  s: 'settings',
  m: 'platform',
  u: 'users',
  a: 'account',
} as const satisfies Readonly<Record<string, PlaceName>>;

/** Whether single keys do something: people who speak to their computer need to switch this off. */
export function shortcutsEnabled(): boolean {
  try {
    return localStorage.getItem(storageKey) !== 'off';
  } catch {
    return true;
  }
}

export function enableShortcuts(enabled: boolean): void {
  try {
    if (enabled) localStorage.removeItem(storageKey);
    else localStorage.setItem(storageKey, 'off');
  } catch {
    // They stay on.
  }
}

interface Actions {
  openPalette: () => void;
  showHelp: () => void;
  openAssistant: () => void;
  go: (place: PlaceName) => void;
}

/** Listens for the shortcuts while the component is mounted. */
export function useShortcuts(actions: Actions): void {
  const latest = useRef(actions);
  useEffect(() => {
    latest.current = actions;
  });
  useEffect(() => {
    let goUntil = 0;
    const onKeyDown = (event: KeyboardEvent) => {
      const { key, ctrlKey, metaKey, altKey } = event;
      if ((ctrlKey || metaKey) && !altKey && key.toLowerCase() === 'k') {
        if (document.querySelector('dialog[open]')) return;
        event.preventDefault();
        latest.current.openPalette();
        return;
      }
      if (event.defaultPrevented || ctrlKey || metaKey || altKey || isWriting(event) || !shortcutsEnabled()) return;
      const place =
        event.timeStamp < goUntil && Object.hasOwn(goKeys, key) ? goKeys[key as keyof typeof goKeys] : undefined;
      goUntil = 0;
      if (place) latest.current.go(place);
      else if (key === 'g') goUntil = event.timeStamp + sequenceMs;
      else if (key === 'a') latest.current.openAssistant();
      else if (key === '?') latest.current.showHelp();
      else if (key === '/') {
        const field = document.querySelector<HTMLElement>('main input[type="search"]');
        if (field) field.focus();
        else latest.current.openPalette();
      } else return;
      event.preventDefault();
    };
    window.addEventListener('keydown', onKeyDown);
    return () => window.removeEventListener('keydown', onKeyDown);
  }, []);
}

/** Whether the key goes into a field, or a dialog is open. The target is also found in a shadow root. */
function isWriting(event: KeyboardEvent): boolean {
  const [target] = event.composedPath();
  if (document.querySelector('dialog[open]')) return true;
  return (
    target instanceof HTMLElement &&
    (target.isContentEditable || ['INPUT', 'TEXTAREA', 'SELECT'].includes(target.tagName))
  );
}
