import { useEffect, useState } from 'react'

/** For what covers the page: when it is gone, the focus is where it was before. */
export function useReturnFocus(): void {
  const [opener] = useState(findOpener)
  useEffect(
    () => () => {
      // Mantine returns the focus only for dialogs that stay mounted while they are closed.
      if (opener instanceof HTMLElement && opener.isConnected) opener.focus({ preventScroll: true })
    },
    [opener],
  )
}

/**
 * For a menu that closes: its button has the focus immediately, before what an item opens takes it. Mantine moves it with a
 * timer, which on a busy machine fires after a dialog was opened.
 */
export function focusMenuButton(): void {
  const opener = findOpener()
  if (opener instanceof HTMLElement && opener !== document.activeElement)
    opener.focus({ preventScroll: true })
}

/** What has the focus or, since a menu closes, the button that opened it. */
function findOpener(): Element | null {
  const focused = document.activeElement
  const menu = focused?.closest('[role="menu"]')
  const button = menu && document.querySelector(`[aria-controls="${CSS.escape(menu.id)}"]`)
  return button ?? focused
}
