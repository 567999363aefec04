import { text } from '../text/common.ts';

/** The event without its prefix, as `svc` shows it. */
export const shortEvent = (event: string): string => event.replace(/^(deployment|alert)\./, '');

/** Where a target is. The rest of its URL can be a secret of the receiver, which only the form shows. */
export const originOf = (url: string): string => URL.parse(url)?.origin ?? text.none;
