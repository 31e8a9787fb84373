// The tokens of links that people receive: invitations and password resets. They leave the address bar, and with it the
// history and anything that copies URLs, before the page renders. The session storage keeps them for a reload and for
// the way back from single sign-on; they are sent only in the bodies of the requests that read and use them.
import { useSyncExternalStore } from 'react'
import { createEmitter } from '#web/base/api/signals.ts'
import { readStored, writeStored } from '#web/base/session/tab-storage.ts'
import { type LinkPage, readLink } from './read-link.ts'

const changed = createEmitter()
const keyOf = (page: LinkPage) => `gantry-${page}`

/** Takes the token of the current URL, if it has one, out of it. */
export function captureLinkToken(): void {
  const link = readLink(location.pathname, location.hash)
  if (!link) return
  writeStored(keyOf(link.page), link.token)
  history.replaceState(history.state, '', `/app/${link.page}`)
  changed.emit()
}

export function forgetLinkToken(page: LinkPage): void {
  writeStored(keyOf(page), null)
  changed.emit()
}

export function readLinkToken(page: LinkPage): string | null {
  return readStored(keyOf(page))
}

export function useLinkToken(page: LinkPage): string | null {
  return useSyncExternalStore(changed.subscribe, () => readLinkToken(page))
}
