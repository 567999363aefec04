import { useVirtualizer } from '@tanstack/react-virtual';
import { memo, useEffect, useLayoutEffect, useRef, useState } from 'react';
import { Button } from '../parts/button.tsx';
import { logText } from '../text/logs.ts';
import { contains, highlighted, shows, spansOf, wholeText, type Span } from './ansi.ts';
import type { Line } from './lines.ts';

/** Of one line of text, in CSS pixels. */
const rowHeight = 20;
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
  linkTo: (time: string) => void;
  /** Reads older lines; absent when there are none. */
  older: (() => Promise<void>) | undefined;
}

/** The lines of a log. Only those in view are in the page. At the end, the view follows new lines; elsewhere it stays. */
export function LogLines({ label, items, showsPods, wraps, term, current, at, linkTo, older }: LogLinesProps) {
  const box = useRef<HTMLDivElement>(null);
  const [isAtEnd, setAtEnd] = useState(at === undefined);
  const [open, setOpen] = useState<ReadonlySet<number>>(new Set());
  const virtualizer = useVirtualizer({
    count: items.length,
    getScrollElement: () => box.current,
    estimateSize: () => rowHeight,
    getItemKey: (index) => items[index]?.id ?? index,
    overscan: 20,
  });
  const first = items[0]?.id;
  const before = useRef(items);

  // Older lines, or those that were dropped, do not move the lines in view.
  useLayoutEffect(() => {
    const former = before.current;
    before.current = items;
    const firstBefore = former[0]?.id;
    if (first === firstBefore || firstBefore === undefined || isAtEnd) return;
    const added = items.findIndex(({ id }) => id === firstBefore);
    const moved = added >= 0 ? added : -former.findIndex(({ id }) => id === first);
    virtualizer.scrollToOffset((virtualizer.scrollOffset ?? 0) + moved * rowHeight);
  }, [first, items, isAtEnd, virtualizer]);

  useLayoutEffect(() => {
    if (isAtEnd && items.length > 0) virtualizer.scrollToIndex(items.length - 1, { align: 'end' });
  }, [isAtEnd, items, virtualizer]);

  const scrollTo = current ?? (at === undefined ? undefined : items.find(({ time }) => time === at)?.id);
  useEffect(() => {
    const index = items.findIndex(({ id }) => id === scrollTo);
    if (scrollTo === undefined || index < 0) return;
    setAtEnd(false);
    virtualizer.scrollToIndex(index, { align: 'center' });
    // New lines do not scroll back.
    // oxlint-disable-next-line react-hooks/exhaustive-deps
  }, [scrollTo, virtualizer]);

  const onScroll = () => {
    const element = box.current;
    if (!element) return;
    setAtEnd(element.scrollHeight - element.scrollTop - element.clientHeight < edge);
    if (element.scrollTop < edge) void older?.();
  };
  const toggle = (id: number) => {
    const next = new Set(open);
    if (!next.delete(id)) next.add(id);
    setOpen(next);
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
        className="h-[65vh] overflow-auto rounded-md bg-zinc-100 font-mono text-xs leading-5 dark:bg-zinc-900"
      >
        <div className="relative w-full" style={{ height: virtualizer.getTotalSize() }}>
          {virtualizer.getVirtualItems().map(({ index, key, start }) => {
            const line = items[index];
            if (!line) return null;
            const isChosen = line.id === current || (at !== undefined && line.time === at);
            return (
              <div
                key={key}
                ref={virtualizer.measureElement}
                data-index={index}
                style={{ transform: `translateY(${start}px)` }}
                className={`absolute top-0 left-0 min-w-full px-3 ${wraps ? 'w-full whitespace-pre-wrap' : 'whitespace-pre'} ${isChosen ? 'bg-indigo-100 dark:bg-indigo-950' : ''}`}
              >
                <Row
                  line={line}
                  showsPod={showsPods}
                  term={term}
                  linkTo={linkTo}
                  isOpen={open.has(line.id)}
                  toggle={toggle}
                />
              </div>
            );
          })}
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
  linkTo: (time: string) => void;
  isOpen: boolean;
  toggle: (id: number) => void;
}

const Row = memo(function Row({ line: { id, pod, time, line }, showsPod, term, linkTo, isOpen, toggle }: RowProps) {
  const shown = beginningOf(line);
  const whole = wholeText(shown);
  const hasFields = line.startsWith('{') && line.length <= fieldsMaxLength;
  // What is searched is found in what the line hides, too.
  const isHiddenMatch = whole !== undefined && !shows(shown, term) && contains(shown, term);
  return (
    <>
      <button
        type="button"
        tabIndex={-1}
        aria-label={logText.permalink(time.slice(11, 23))}
        title={time}
        onClick={() => linkTo(time)}
        className="mr-3 text-zinc-600 hover:underline dark:text-zinc-400"
      >
        {time.slice(11, 23)}
      </button>
      {showsPod && <span className="mr-3 text-indigo-800 dark:text-indigo-300">{pod}</span>}
      {(hasFields || whole !== undefined) && (
        <button
          type="button"
          tabIndex={-1}
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
