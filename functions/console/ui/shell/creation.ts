import { useNavigate, useSearch } from '@tanstack/react-router';
import { useState } from 'react';

/** What the address of a page with the form of a new object says. */
export interface CreationSearch {
  create?: true | undefined;
}

/** Reads the parameter of an address. */
export function creationSearch({ create }: Readonly<Record<string, unknown>>): CreationSearch {
  return create === true ? { create } : {};
}

/**
 * Whether the form of a new object is open, and how to open and close it. The address says so too, so that the palette and
 * links open it. It closes at once, before the address changes, so that the dialog that follows it finds the focus.
 */
export function useCreation(): [isOpen: boolean, setOpen: (isOpen: boolean) => void] {
  const isAsked = creationSearch(useSearch({ strict: false })).create === true;
  const navigate = useNavigate();
  const [state, setState] = useState({ isOpen: isAsked, isAsked });
  if (state.isAsked !== isAsked) setState({ isOpen: isAsked, isAsked });
  const setOpen = (isOpen: boolean) => {
    setState({ isOpen, isAsked });
    const create = isOpen ? (true as const) : undefined;
    void navigate({ to: '.', search: (before) => ({ ...before, create }), replace: true });
  };
  return [state.isOpen, setOpen];
}
