import { z } from 'zod';
import { promotionAnnotation } from '../../domain/labels.ts';
import type { App } from './app.ts';

/** What a promotion that creates an app deploys first, in addition to the App's image. */
const firstPromotion = z.object({
  from: z.object({ environment: z.string(), revision: z.int().min(1) }),
  digest: z.string().exactOptional(),
  commit: z.string().exactOptional(),
  commitMessage: z.string().exactOptional(),
  commitAuthor: z.string().exactOptional(),
  branch: z.string().exactOptional(),
});

export type FirstPromotion = z.infer<typeof firstPromotion>;

/** The annotations of an app that a promotion creates. Pure. */
export function promotionAnnotations(promotion: FirstPromotion): Record<string, string> {
  return { [promotionAnnotation]: JSON.stringify(promotion) };
}

/** The promotion that created an app; undefined for other apps, and where the annotation was edited. Pure. */
export function firstPromotionOf({ metadata }: App): FirstPromotion | undefined {
  try {
    return firstPromotion.safeParse(JSON.parse(metadata.annotations?.[promotionAnnotation] ?? 'null')).data;
  } catch {
    return undefined;
  }
}
