import { useLayoutEffect, useReducer, useRef, useState } from 'react';
import type { Line } from './lines.ts';
import { createLinePositions, type LinePositions } from './line-positions.ts';

/** Lines that are in the page before and after those in view, so that a slow page shows no gaps while it is scrolled. */
const overscan = 10;

interface Range {
  first: number;
  last: number;
}

/** How a line is placed in the view: its beginning or its end at that of the view, or both centres. */
type Alignment = 'start' | 'end' | 'center';

/** Where the view is: at a line. Other lines may be added, make room, or turn out higher, and it stays there. */
interface Place {
  id: number | undefined;
  /** Where the line was among the others, which it mostly still is. */
  index: number;
  align: Alignment;
  /** How far the view is below that, in CSS pixels. */
  distance: number;
}

export interface LineWindow {
  /** The height of all lines, and where the first line of the page begins, in CSS pixels. */
  height: number;
  top: number;
  /** The lines that are in the page, and those of them in view. */
  inPage: Range;
  inView: Range;
  /** Where a line begins, in CSS pixels. */
  topOf(index: number): number;
  /** Takes over where the box is scrolled to. */
  readScroll(): void;
  /** Where the view is at the end: it stays at the lines that it shows, once it does not follow new ones. */
  hold(): void;
  /** Brings a line into view; without an alignment, by the shortest way. */
  scrollTo(index: number, align?: Alignment): void;
}

interface Elements {
  /** What scrolls. It must not anchor by itself (`overflow-anchor: none`). */
  box: React.RefObject<HTMLElement | null>;
  /** What holds a line of the page in each of its elements with `data-index`. */
  rows: React.RefObject<HTMLElement | null>;
}

/**
 * Which of many lines of different heights are in the page. Their heights are measured once they are in it.
 * @param follows whether the view is at the end and stays there
 */
export function useLineWindow(items: readonly Line[], follows: boolean, { box, rows }: Elements): LineWindow {
  const [positions] = useState(createLinePositions);
  const [, render] = useReducer((count: number) => count + 1, 0);
  const [viewHeight, setViewHeight] = useState(0);
  const [place, setPlace] = useState<Place>({ id: items[0]?.id, index: 0, align: 'start', distance: 0 });
  /** Where the box was scrolled to by this hook, which an event then says. */
  const scrolledTo = useRef(0);
  const scrollHeightBefore = useRef(0);

  positions.setLines(items);
  const target = follows ? positions.height() : scrollTopOf(place, items, positions, viewHeight);
  const scrollTop = Math.max(0, Math.min(target, positions.height() - viewHeight));
  const inView = { first: positions.indexAt(scrollTop), last: positions.indexAt(scrollTop + viewHeight) };
  const inPage = {
    first: Math.max(0, inView.first - overscan),
    last: Math.min(items.length - 1, inView.last + overscan),
  };

  useLayoutEffect(() => {
    const element = box.current;
    if (!element) return undefined;
    const measure = () => {
      setViewHeight(element.clientHeight);
      // The width decides where lines wrap.
      render();
    };
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    measure();
    return () => observer.disconnect();
  }, [box]);

  // After each rendering, and before the browser paints.
  useLayoutEffect(() => {
    let hasChanged = false;
    for (const row of rows.current?.children ?? []) {
      const { height } = row.getBoundingClientRect();
      if (positions.setHeight(Number(row.getAttribute('data-index')), height)) hasChanged = true;
    }
    const element = box.current;
    if (hasChanged) render();
    else if (element) {
      const { scrollTop: now, scrollHeight, clientHeight } = element;
      // The browser itself scrolls when there are fewer lines than before.
      const isCut = scrollHeight < scrollHeightBefore.current && now + clientHeight >= scrollHeight - 1;
      scrollHeightBefore.current = scrollHeight;
      // An event will say where the user has scrolled meanwhile, before the browser paints.
      if (Math.abs(now - scrolledTo.current) >= 1 && !isCut) return;
      if (Math.abs(now - scrollTop) >= 1) element.scrollTop = scrollTop;
      scrolledTo.current = element.scrollTop;
    }
  });

  const holdAt = (distance: number) => {
    const index = positions.indexAt(distance);
    setPlace({ id: items[index]?.id, index, align: 'start', distance: distance - positions.top(index) });
  };
  return {
    height: positions.height(),
    top: positions.top(inPage.first),
    inPage,
    inView,
    topOf: (index) => positions.top(index),
    readScroll() {
      const now = box.current?.scrollTop ?? 0;
      if (Math.abs(now - scrolledTo.current) < 1) return;
      scrolledTo.current = now;
      holdAt(now);
    },
    hold: () => holdAt(scrollTop),
    scrollTo(index, align) {
      const isAbove = positions.top(index) < scrollTop;
      const isBelow = positions.top(index + 1) > scrollTop + viewHeight;
      if (align === undefined && !isAbove && !isBelow) return;
      setPlace({ id: items[index]?.id, index, align: align ?? (isAbove ? 'start' : 'end'), distance: 0 });
    },
  };
}

function scrollTopOf(
  { id, index: formerIndex, align, distance }: Place,
  items: readonly Line[],
  positions: LinePositions,
  viewHeight: number,
): number {
  const index = items[formerIndex]?.id === id ? formerIndex : items.findIndex((item) => item.id === id);
  // It was one of the oldest, and has made room for newer ones.
  if (index < 0) return 0;
  const [start, end] = [positions.top(index), positions.top(index + 1)];
  const aligned = { start, end: end - viewHeight, center: (start + end - viewHeight) / 2 };
  return aligned[align] + distance;
}
