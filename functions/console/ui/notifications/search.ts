import { creationSearch, type CreationSearch } from '../shell/creation.ts';

/** What the address of a page of notifications says: which one is shown with its messages. */
export interface NotificationSearch extends CreationSearch {
  notification?: string;
}

/** Reads the parameters of an address, and leaves out what is not valid. */
export function notificationSearch(values: Record<string, unknown>): NotificationSearch {
  const { notification } = values;
  return { ...creationSearch(values), ...(typeof notification === 'string' && { notification }) };
}
