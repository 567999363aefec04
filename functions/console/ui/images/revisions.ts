import type { ImageView } from '../../../../runtime/contracts/api/images.ts';

/** More than a person compares. */
const shownMax = 5;

/** The newest revisions that name an image: `3`, or `prod/shop:3` for one of another app or environment; then how many more. */
export function revisionTexts({ revisions, app, environment }: ImageView): { texts: string[]; more: number } {
  const texts = revisions.map((each) => {
    const isOther = each.app !== app || each.environment !== environment;
    return isOther ? `${each.environment}/${each.app}:${each.revision}` : String(each.revision);
  });
  return { texts: texts.slice(0, shownMax), more: Math.max(0, texts.length - shownMax) };
}

/** Whether a user may ask to delete an image: the registry has it, and no app needs it. */
export const mayBeDeleted = ({ inUse, status }: ImageView): boolean => !inUse && status === 'stored';
