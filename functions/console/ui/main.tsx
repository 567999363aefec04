import { MutationCache, QueryCache, QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { ApiError } from './api/client.ts';
import { sessionQuery } from './api/queries.ts';
import { createConsoleRouter } from './router.tsx';

/** When a request shows that the session has ended, the frame asks the user to sign in again, above the same page. */
function onError(error: unknown): void {
  if (error instanceof ApiError && error.code === 'unauthenticated') client.setQueryData(sessionQuery.queryKey, null);
}

const client = new QueryClient({
  queryCache: new QueryCache({ onError }),
  mutationCache: new MutationCache({ onError }),
  defaultOptions: {
    // A change that waits for the network would be made when the user has long forgotten it.
    mutations: { networkMode: 'always' },
    queries: {
      networkMode: 'always',
      // A refusal stays a refusal; only a request that did not arrive, or an outage, is worth another attempt.
      retry: (count, error) => count < 2 && !(error instanceof ApiError && error.status > 0 && error.status < 500),
    },
  },
});
const router = createConsoleRouter(client);

const element = document.getElementById('root');
if (!element) throw new Error('the page has no element "root"');
createRoot(element).render(
  <StrictMode>
    <QueryClientProvider client={client}>
      <RouterProvider router={router} />
    </QueryClientProvider>
  </StrictMode>,
);
