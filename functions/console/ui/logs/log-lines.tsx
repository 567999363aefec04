import { memo, useCallback, useEffect, useLayoutEffect, useRef, useState } from 'react';
import { flushSync } from 'react-dom';
import { Button } from '../parts/button.tsx';
import { logText } from '../text/logs.ts';
import { contains, highlighted, shows, spansOf, wholeText, type Span } from './ansi.ts';
import { keyboardTarget, lineInView } from './keyboard.ts';
import { useLineWindow } from './line-window.ts';
import type { Line } from './lines.ts';

/** The end counts as shown within this distance, and older lines are read within it of the beginning. */
const edge = 40;

/** Of a longer line, the beginning is shown; a download has all of it. */
const shownMaxLength = 8_000;
/** Maximum differently coloured or marked parts of a line, so that no line makes the page slow. */
const partsMax = 400;
/** Longer lines do not unfold. */
const fieldsMaxLength = 32_768;
/** A line with more brackets does not unfold: indentation makes a deeply nested line many times longer. */
const bracketsMax = 500;

/** Puts the time of a line into the address. */
type LinkTo = (time: string, isByKeyboard: boolean) => void;

/** The line of the address, or the log as a whole. */
export type FocusRequest = 'line' | 'log' | undefined;

interface LogLinesProps {
  label: string;
  items: readonly Line[];
  showsPods: boolean;
  wraps: boolean;
  /** The text that is highlighted, and the id of the line that was stepped to. */
  term: string;
  current: number | undefined;
  /** The time of the line that the address names. */
  at: string | undefined;
  linkTo: LinkTo;
  /** What gets the focus, because the keyboard changed the address, and with it all lines. */
  focusRequest: React.RefObject<FocusRequest>;
  /** Reads older lines; absent when there are none. */
  older: (() => Promise<void>) | undefined;
}

/**
 * The lines of a log. Only those in view are in the page. At the end, the view follows new lines; elsewhere it stays. The
 * keyboard reaches the buttons of one line at a time (decision 0088).
 */
export function LogLines({ label, items, showsPods, wraps, term, current, at, linkTo, ...rest }: LogLinesProps) {
  const { focusRequest, older } = rest;
  // Of the lines that the request replaced, none gets the focus.
  const [request] = useState(() => focusRequest.current);
  const box = useRef<HTMLDivElement>(null);
  const [isAtEnd, setAtEnd] = useState(at === undefined);
  const [open, setOpen] = useState<ReadonlySet<number>>(new Set());
  // The line whose buttons have the focus of the keyboard. It stays in the page, wherever the view is.
  const [focused, setFocused] = useState<number>();
  const focusedIndex = focused === undefined ? -1 : items.findIndex(({ id }) => id === focused);
  const movesFocus = useRef(false);
  // While the keyboard is at a line, new lines do not scroll it away.
  const follows = isAtEnd && focused === undefined;
  const rows = useRef<HTMLDivElement>(null);
  const view = useLineWindow(items, follows, { box, rows });
  const { height, top, inPage, inView } = view;

  useLayoutEffect(() => {
    if (focused !== undefined && focusedIndex < 0) {
      // The line made room for newer ones.
      setFocused(undefined);
      box.current?.focus();
    } else if (movesFocus.current) {
      movesFocus.current = false;
      box.current?.querySelector<HTMLElement>(`[data-index="${focusedIndex}"] button`)?.focus({ preventScroll: true });
    }
  }, [focused, focusedIndex]);

  const chosen = current ?? (at === undefined ? undefined : items.find(({ time }) => time === at)?.id);
  useEffect(() => {
    const index = items.findIndex(({ id }) => id === chosen);
    if (chosen === undefined || index < 0) return;
    setAtEnd(false);
    view.scrollTo(index, 'center');
    if (request === 'line' && focusRequest.current === request) {
      focusRequest.current = undefined;
      movesFocus.current = true;
      setFocused(chosen);
    }
    // New lines do not scroll back.
    // oxlint-disable-next-line react-hooks/exhaustive-deps
  }, [chosen]);

  useEffect(() => {
    if (request !== 'log') return;
    focusRequest.current = undefined;
    box.current?.focus();
  }, [request, focusRequest]);

  const onScroll = () => {
    const element = box.current;
    if (!element) return;
    // Before the browser paints, which would show a gap.
    flushSync(() => {
      setAtEnd(element.scrollHeight - element.scrollTop - element.clientHeight < edge);
      view.readScroll();
    });
    if (element.scrollTop < edge) void older?.();
  };
  // The same functions in each render, so that lines that stay are not rendered again.
  const toggle = useCallback((id: number) => {
    setOpen((before) => {
      const next = new Set(before);
      if (!next.delete(id)) next.add(id);
      return next;
    });
  }, []);
  const latestLink = useRef(linkTo);
  useEffect(() => {
    latestLink.current = linkTo;
  });
  const link: LinkTo = useCallback((time, isByKeyboard) => latestLink.current(time, isByKeyboard), []);
  const indexes = Array.from({ length: inPage.last - inPage.first + 1 }, (_, offset) => inPage.first + offset);
  if (focusedIndex >= 0 && focusedIndex < inPage.first) indexes.unshift(focusedIndex);
  if (focusedIndex > inPage.last) indexes.push(focusedIndex);
  // Tab leads from the log to a line in view: the newest where new lines are followed.
  const tabIndex = focusedIndex >= 0 ? focusedIndex : lineInView(inView, follows, items.length);
  const onKeyDown = (event: React.KeyboardEvent) => {
    if (focusedIndex < 0 || event.ctrlKey || event.metaKey || event.altKey) return;
    const id = items[focusedIndex]?.id ?? -1;
    const target = keyboardTarget(event.key, {
      index: focusedIndex,
      count: items.length,
      page: Math.max(1, inView.last - inView.first - 1),
    });
    if (target !== undefined) {
      movesFocus.current = target !== focusedIndex;
      setFocused(items[target]?.id);
      view.scrollTo(target);
      if (target === 0) void older?.();
    } else if (event.key === 'ArrowRight' || event.key === 'ArrowLeft') {
      if (open.has(id) !== (event.key === 'ArrowRight')) toggle(id);
    } else return;
    event.preventDefault();
  };
  return (
    <div className="relative">
      {older && (
        <Button className="mb-2" onClick={() => void older()}>
          {logText.older}
        </Button>
      )}
      <div
        ref={box}
        role="log"
        aria-label={label}
        aria-live="off"
        tabIndex={0}
        onScroll={onScroll}
        onKeyDown={onKeyDown}
        // A click does not hold the view: only the focus of the keyboard does.
        onFocus={({ target }) => {
          if (target === box.current || !target.matches(':focus-visible')) return;
          if (follows) view.hold();
          setFocused(idOfRow(target));
        }}
        onBlur={({ target, relatedTarget }) => {
          // The window has lost the focus, and will give it back.
          if (document.activeElement === target) return;
          if (!box.current?.contains(relatedTarget) || relatedTarget === box.current) setFocused(undefined);
        }}
        className="h-[65vh] overflow-auto [overflow-anchor:none] rounded-md bg-zinc-100 font-mono text-xs leading-5 dark:bg-zinc-900"
      >
        <div className="relative w-full" style={{ height }}>
          <div
            ref={rows}
            style={{ transform: `translateY(${top}px)` }}
            className={`absolute top-0 left-0 ${wraps ? 'w-full whitespace-pre-wrap' : 'min-w-full whitespace-pre'}`}
          >
            {indexes.map((index) => {
              const line = items[index];
              if (!line) return null;
              const isChosen = line.id === current || (at !== undefined && line.time === at);
              const isInPlace = index >= inPage.first && index <= inPage.last;
              return (
                <div
                  key={line.id}
                  data-index={index}
                  data-line={line.id}
                  // The focused line has its own place, wherever the view is.
                  style={isInPlace ? undefined : { position: 'absolute', top: view.topOf(index) - top }}
                  className={`px-3 ${isChosen ? 'bg-indigo-100 dark:bg-indigo-950' : ''}`}
                >
                  <Row
                    line={line}
                    showsPod={showsPods}
                    term={term}
                    linkTo={link}
                    isOpen={open.has(line.id)}
                    toggle={toggle}
                    tabIndex={index === tabIndex ? 0 : -1}
                  />
                </div>
              );
            })}
          </div>
        </div>
      </div>
      {!isAtEnd && (
        <Button className="absolute right-4 bottom-3" onClick={() => setAtEnd(true)}>
          {logText.toEnd}
        </Button>
      )}
    </div>
  );
}

interface RowProps {
  line: Line;
  showsPod: boolean;
  term: string;
  linkTo: LinkTo;
  isOpen: boolean;
  toggle: (id: number) => void;
  /** 0 for the line whose buttons Tab reaches. */
  tabIndex: 0 | -1;
}

/** The id of the line that an element is in. */
function idOfRow(element: Element): number | undefined {
  const id = element.closest('[data-line]')?.getAttribute('data-line');
  return id === null || id === undefined ? undefined : Number(id);
}

const Row = memo(function Row({ line: { id, pod, time, line }, showsPod, term, linkTo, ...row }: RowProps) {
  const { isOpen, toggle, tabIndex } = row;
  const shown = beginningOf(line);
  const whole = wholeText(shown);
  const hasFields = line.startsWith('{') && line.length <= fieldsMaxLength;
  // What is searched is found in what the line hides, too.
  const isHiddenMatch = whole !== undefined && !shows(shown, term) && contains(shown, term);
  return (
    <>
      <button
        type="button"
        tabIndex={tabIndex}
        aria-label={logText.permalink(time.slice(11, 23))}
        title={time}
        // The keyboard clicks without a pointer.
        onClick={({ detail }) => linkTo(time, detail === 0)}
        className="mr-3 text-zinc-600 hover:underline dark:text-zinc-400"
      >
        {time.slice(11, 23)}
      </button>
      {showsPod && <span className="mr-3 text-indigo-800 dark:text-indigo-300">{pod}</span>}
      {(hasFields || whole !== undefined) && (
        <button
          type="button"
          tabIndex={tabIndex}
          aria-label={whole === undefined ? logText.fields : logText.whole}
          aria-expanded={isOpen || isHiddenMatch}
          onClick={() => toggle(id)}
          className={`mr-2 ${isOpen || isHiddenMatch ? "before:content-['▾']" : "before:content-['▸']"}`}
        />
      )}
      <Marked spans={spansOf(shown)} term={term} />
      {whole !== undefined && (isOpen || isHiddenMatch) && (
        <p className="pl-8 whitespace-pre-wrap text-zinc-600 dark:text-zinc-400">
          <Marked spans={[{ text: whole, classes: '' }]} term={term} />
        </p>
      )}
      {hasFields && isOpen && <Fields line={line} />}
    </>
  );
});

const beginningOf = (line: string) => (line.length > shownMaxLength ? `${line.slice(0, shownMaxLength)}…` : line);

/** A text with the parts marked that are searched. */
function Marked({ spans, term }: { spans: readonly Span[]; term: string }) {
  return highlighted(spans, term, partsMax).map(({ text, classes, isMatch }, index) =>
    isMatch ? (
      <mark key={index} className="bg-amber-300 text-zinc-950">
        {text}
      </mark>
    ) : (
      <span key={index} className={classes}>
        {text}
      </span>
    ),
  );
}

const Fields = memo(function Fields({ line }: { line: string }) {
  return <pre className="pl-8 whitespace-pre-wrap">{fieldsOf(line)}</pre>;
});

/** The fields of a JSON line, one below the other; the line itself where it is none, or is nested so deep that it grows. */
function fieldsOf(line: string): string {
  if ((line.match(/[[{]/g)?.length ?? 0) > bracketsMax) return line;
  try {
    return JSON.stringify(JSON.parse(line), null, 2);
  } catch {
    return line;
  }
}
