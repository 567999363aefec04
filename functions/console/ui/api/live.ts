/**
 * How pages learn of changes: they ask again when the tab gets the focus, and every five seconds while it is visible. A
 * hidden tab asks nothing. Every query that shows something that can change uses these options, and no other place knows
 * of the interval.
 */
export const live = { refetchInterval: 5_000, refetchIntervalInBackground: false, refetchOnWindowFocus: true } as const;
