import uPlot from 'uplot';
import { isolatedOf, labelledOf, topOf, type ChartKind, type Columns } from './charts.ts';

/** A vertical line in a chart. */
export interface Mark {
  seconds: number;
  label: string;
}

/** A chart that is drawn. */
export interface Plot {
  set(columns: Columns, marks: readonly Mark[]): void;
  /** Removes it from the page. */
  remove(): void;
}

interface PlotOptions {
  chart: ChartKind;
  /** Of the lines, in the order of the figures. */
  colors: readonly string[];
  text: string;
  grid: string;
  /** Called with the index of the time below the pointer. */
  point: (index: number | undefined) => void;
}

const height = 180;
const daySeconds = 86_400;
/** Lines differ in more than their colour. */
const dashes = [[], [6, 3], [2, 2]];
const font = '11px system-ui, sans-serif';

/** Draws a chart into an element, as wide as the element is. */
export function drawPlot(element: HTMLElement, { chart, colors, text, grid, point }: PlotOptions): Plot {
  let marks: readonly Mark[] = [];
  const axis = { stroke: text, font, grid: { stroke: grid, width: 1 }, ticks: { stroke: grid, width: 1 } };
  const plot = new uPlot(
    {
      width: element.clientWidth,
      height,
      legend: { show: false },
      cursor: { y: false, drag: { x: false, y: false }, sync: { key: 'metrics' } },
      scales: { y: { range: (_, __, highest: number | null) => [0, topOf(highest)] } },
      axes: [
        {
          ...axis,
          size: 32,
          space: 70,
          values: (_, times, __, ___, step) => times.map((time) => timeText(time, step)),
        },
        {
          ...axis,
          size: 72,
          ...(chart.steps && { incrs: chart.steps }),
          values: (_, values) => values.map((value) => chart.show(value)),
        },
      ],
      series: [
        {},
        ...chart.figures.map((_, index) => ({
          ...{ stroke: colors[index] ?? text, width: 1.5, dash: dashes[index] ?? [] },
          points: {
            ...{ size: 5, fill: colors[index] ?? text },
            filter: (drawn: uPlot, series: number, isShown: boolean) =>
              isShown ? null : isolatedOf(drawn.data[series] ?? []),
          },
        })),
      ],
      hooks: {
        setCursor: [({ cursor }) => point(cursor.idx ?? undefined)],
        draw: [(drawn) => drawMarks(drawn, marks, text)],
      },
    },
    [[], ...chart.figures.map(() => [])],
    element,
  );
  const observer = new ResizeObserver(() => plot.setSize({ width: element.clientWidth, height }));
  observer.observe(element);
  return {
    set(columns, next) {
      marks = next;
      plot.setData(columns);
    },
    remove() {
      observer.disconnect();
      plot.destroy();
    },
  };
}

/** `14:05`, and the date at midnight and where times are days apart. */
function timeText(seconds: number, step: number): string {
  const time = new Date(seconds * 1000);
  const isDay = step >= daySeconds || (time.getHours() === 0 && time.getMinutes() === 0);
  if (isDay) return time.toLocaleDateString('en', { month: 'short', day: 'numeric' });
  return time.toLocaleTimeString('en', { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' });
}

function drawMarks(plot: uPlot, marks: readonly Mark[], color: string): void {
  const { ctx, bbox } = plot;
  const scale = uPlot.pxRatio;
  ctx.save();
  ctx.strokeStyle = color;
  ctx.fillStyle = color;
  ctx.lineWidth = scale;
  ctx.font = `${11 * scale}px system-ui, sans-serif`;
  ctx.textAlign = 'left';
  ctx.textBaseline = 'top';
  ctx.setLineDash([4 * scale, 4 * scale]);
  const places = marks
    .map(({ seconds, label }) => ({ label, x: Math.round(plot.valToPos(seconds, 'x', true)) }))
    .filter(({ x }) => x >= bbox.left && x <= bbox.left + bbox.width)
    .map((place) => ({ ...place, width: ctx.measureText(place.label).width + 6 * scale }));
  for (const { x } of places) {
    ctx.beginPath();
    ctx.moveTo(x, bbox.top);
    ctx.lineTo(x, bbox.top + bbox.height);
    ctx.stroke();
  }
  for (const { label, x } of labelledOf(places)) ctx.fillText(label, x + 3 * scale, bbox.top);
  ctx.restore();
}
