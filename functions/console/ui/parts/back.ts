import { useRouter } from '@tanstack/react-router';
import { useEffect, useRef } from 'react';

/**
 * While the component is mounted, the Back and Forward buttons of the browser close what is open instead of leaving the page
 * below it (decision 0081).
 * @param close absent when they must not close it: then they do nothing
 */
export function useBack(close: (() => void) | undefined): void {
  const { history } = useRouter();
  const latest = useRef(close);
  useEffect(() => {
    latest.current = close;
  });
  useEffect(() => {
    // Before its first entry, the browser leaves the console, and nothing can stop it: the page gets a second one.
    if (!history.canGoBack()) history.push(history.location.href);
    return history.block({
      blockerFn: ({ action }) => {
        if (action !== 'BACK' && action !== 'FORWARD') return false;
        latest.current?.();
        return true;
      },
      enableBeforeUnload: false,
    });
  }, [history]);
}
