/** The texts of the pages about how an app is reached, built and set up. */
export const appSettingsText = {
  tabs: { gate: 'Gate', webhook: 'Webhook', git: 'Git', settings: 'Settings' },
  gate: {
    title: 'Gate',
    states: { off: 'off', applying: 'being applied', gated: 'on', lifting: 'being lifted' },
    since: 'Since',
    status: 'API key',
    what: 'With the gate, only requests with a valid API key reach the app. Calls inside the cluster pass without a key.',
    notProtected: 'Not yet protected: requests without a key still reach the app.',
    notOpen: 'Not yet open: requests without a key are still denied.',
    noKeys: 'No key is valid for this app, so the gate denies every request. Create a key.',
    keys: 'Valid keys',
    manageKeys: 'API keys',
    header: 'How clients send the key',
    receives:
      'The key is removed before the request reaches the app. The app gets the handle in X-Svc-Key-Prefix and the name in X-Svc-Key-Name.',
    enable: 'Require an API key',
    disable: 'Stop requiring an API key',
    disableTitle: 'Stop requiring an API key?',
    disableWhat: (url: string) => `Everybody who can reach ${url} can then use the app. Keys stay as they are.`,
  },
} as const;
