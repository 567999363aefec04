import { useEffect, useRef, useState, useSyncExternalStore } from 'react';

/** From this width on, the panel is beside the page; the classes of the frame and of the panel have the same. */
const wide = '(min-width: 64rem)';

function subscribe(listener: () => void): () => void {
  const media = matchMedia(wide);
  media.addEventListener('change', listener);
  return () => media.removeEventListener('change', listener);
}

/** Whether the panel of the assistant is open. Once it was, it stays loaded, with its conversation. */
export function usePanel() {
  const [isOpen, setOpen] = useState(false);
  const [opened, setOpened] = useState(0);
  const isWide = useSyncExternalStore(subscribe, () => matchMedia(wide).matches);
  const button = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    // After the page can have the focus again.
    if (!isOpen && opened > 0) button.current?.focus();
  }, [isOpen, opened]);
  return {
    isOpen,
    /** How often it was opened. */
    opened,
    covers: isOpen && !isWide,
    button,
    open: () => {
      setOpen(true);
      setOpened((count) => count + 1);
    },
    close: () => setOpen(false),
  };
}

export type Panel = ReturnType<typeof usePanel>;
