import { datasourceId, type Dashboard, type Panel } from './dashboard-definitions.ts';

const columns = 3;
const width = 24 / columns;
const height = 8;

/**
 * A dashboard in Grafana's format. Pure.
 * https://grafana.com/docs/grafana/latest/dashboards/build-dashboards/view-dashboard-json-model/
 */
export function toGrafana({ id, title, panels }: Dashboard): object {
  return {
    uid: `svc-${id}`,
    title,
    tags: ['svc'],
    schemaVersion: 39,
    refresh: '30s',
    time: { from: 'now-3h', to: 'now' },
    editable: false,
    panels: panels.map(toPanel),
  };
}

function toPanel({ title, unit, queries }: Panel, index: number): object {
  return {
    id: index + 1,
    type: 'timeseries',
    title,
    datasource: { type: 'prometheus', uid: datasourceId },
    gridPos: { x: (index % columns) * width, y: Math.floor(index / columns) * height, w: width, h: height },
    fieldConfig: { defaults: { unit, min: 0 }, overrides: [] },
    options: { legend: { displayMode: 'list', placement: 'bottom' }, tooltip: { mode: 'multi', sort: 'desc' } },
    targets: queries.map(({ expr, legend }, at) => ({
      refId: String.fromCharCode(65 + at),
      datasource: { type: 'prometheus', uid: datasourceId },
      expr,
      legendFormat: legend,
    })),
  };
}
