/** The texts of the pages for platform admins. */
export const platformText = {
  adminsOnly: 'Only platform admins can see this page. A platform admin can give you the role:',
  users: {
    title: 'Users',
    empty: 'There are no more users.',
    emptyHint: 'A user signs in with an email address and a password.',
    user: 'User',
    role: 'Role',
    roles: { member: 'member', admin: 'platform admin' },
    status: 'Status',
    states: { active: 'active', invited: 'invited', disabled: 'disabled' },
    created: 'Created',
    id: 'ID',
    passwordExpires: 'One-time password expires',
    you: 'you',
    first: 'First page',
    next: 'Next page',
    create: 'Create a user',
    createHint:
      'The user gets a one-time password, which is valid for seven days, and chooses a password of their own.',
    email: 'Email address',
    self: 'This is your own account. Another platform admin can change it.',
    makeAdmin: 'Make platform admin',
    makeAdminWhat: (email: string) =>
      `${email} can then do everything in every project, and manage users and the settings of the platform.`,
    makeMember: 'Make member',
    makeMemberWhat: (email: string) => `${email} then only has access to the projects in which they have a role.`,
    enable: 'Enable',
    disable: 'Disable',
    disableTitle: (email: string) => `Disable ${email}?`,
    disableWhat:
      'The sessions of the user end, their access tokens are refused, and they cannot sign in. Roles in projects are kept.',
    reset: 'Reset password',
    resetTitle: (email: string) => `Reset the password of ${email}?`,
    resetWhat:
      'The sessions and the current password of the user end, and you get a one-time password for them. Their access tokens are refused until they choose a password.',
    delete: 'Delete',
    deleteTitle: (email: string) => `Delete ${email}?`,
    deleteWhat:
      'The user, their roles in projects and their sessions are deleted. Projects and what runs in them stay. This cannot be undone.',
    confirm: (email: string) => `Type ${email} to confirm`,
    password: {
      title: 'Copy the one-time password now',
      once: (email: string) => `It is shown only once. ${email} signs in with it and then chooses a password.`,
      expires: (time: string) => `It expires on ${time}.`,
      copy: 'Copy password',
      done: 'I have stored the password',
    },
  },
} as const;
