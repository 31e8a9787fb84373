import { useEffect, useState } from 'react'

/** For what covers the page: when it is gone, the focus is where it was before. */
export function useReturnFocus(): void {
  const [opener] = useState(() => document.activeElement)
  useEffect(
    () => () => {
      // Mantine returns the focus only for dialogs that stay mounted while they are closed.
      if (opener instanceof HTMLElement && opener.isConnected) opener.focus({ preventScroll: true })
    },
    [opener],
  )
}
