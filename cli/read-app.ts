import { appView, type AppView } from '../runtime/contracts/api/apps.ts';
import type { Place } from './place.ts';

/** An app of the place, as the API shows it. @throws Failure `not_found` when there is none */
export function readApp(place: Place, name: string): Promise<AppView> {
  return place.api.call('GET', place.path('apps', name), appView, { query: place.query });
}
