// The ways to leave a page: a link, Back, a reload, closing the tab.
import type { AroundNavHandler } from 'wouter'
import { hasUnsaved, leavePage } from './leave-guard.ts'

/** For wouter's router. Another query of the same page does not leave it. */
export const askBeforeNavigating: AroundNavHandler = (navigate, to, options) => {
  const go = () => navigate(to, options)
  if (new URL(to, location.href).pathname === location.pathname) go()
  else leavePage(go)
}

type TraverseEvent = Event & {
  navigationType: string
  cancelable: boolean
  destination: { key: string; url: string }
}

/** Where the browser has no Navigation API, Back leaves at once; the draft is kept. */
export function watchLeaving(): void {
  addEventListener('beforeunload', (event) => {
    if (hasUnsaved()) event.preventDefault()
  })
  const navigation = (window as { navigation?: EventTarget & { traverseTo(key: string): void } }).navigation
  navigation?.addEventListener('navigate', (event) => {
    const { navigationType, cancelable, destination } = event as TraverseEvent
    if (navigationType !== 'traverse' || !cancelable || !hasUnsaved()) return
    if (new URL(destination.url).pathname === location.pathname) return
    event.preventDefault()
    leavePage(() => navigation.traverseTo(destination.key))
  })
}
