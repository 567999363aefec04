import { useNavigate } from '@tanstack/react-router';
import type { Place } from '../api/queries.ts';
import { keepOffer, type Offered } from '../functions/offered.ts';

/** Opens the form of a new function, or that of one that exists, filled in. @param followed the page behind has changed */
export function useFunctionForm(followed: () => void) {
  const navigate = useNavigate();
  return {
    create: (place: Place, values: Offered) => {
      const to = '/projects/$project/environments/$environment/new-function';
      void navigate({ to, params: place, search: { offer: keepOffer(values) } });
      followed();
    },
    change: (place: Place, name: string, values: Offered) => {
      const to = '/projects/$project/environments/$environment/functions/$function/settings';
      void navigate({ to, params: { ...place, function: name }, search: { offer: keepOffer(values) } });
      followed();
    },
  };
}
