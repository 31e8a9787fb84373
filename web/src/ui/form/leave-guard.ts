// Asks before a person leaves a page with unsaved changes: by a link, by Back, by a reload or by closing the tab.
import type { AroundNavHandler } from 'wouter'
import { createEmitter } from '../../api/signals.ts'

const changed = createEmitter()
const unsaved = new Set<symbol>()
/** What the person is about to do; leaving has to be confirmed first. */
let pending: (() => void) | undefined

/** Returns what ends it: the changes were saved or discarded. */
export function holdBack(): () => void {
  const key = Symbol()
  unsaved.add(key)
  return () => unsaved.delete(key)
}

/** At once, or after confirmation if anything is unsaved. */
export function leave(go: () => void): void {
  if (unsaved.size === 0) {
    go()
    return
  }
  pending = go
  changed.emit()
}

export const leaveGuard = {
  subscribe: changed.subscribe,
  isPending: () => pending !== undefined,
  confirm() {
    const go = pending
    pending = undefined
    unsaved.clear()
    changed.emit()
    go?.()
  },
  dismiss() {
    pending = undefined
    changed.emit()
  },
}

/** For wouter's router. Another query of the same page does not leave it. */
export const askBeforeNavigating: AroundNavHandler = (navigate, to, options) => {
  const go = () => navigate(to, options)
  if (new URL(to, location.href).pathname === location.pathname) go()
  else leave(go)
}

type TraverseEvent = Event & {
  navigationType: string
  cancelable: boolean
  destination: { key: string; url: string }
}

/** Where the browser has no Navigation API, Back leaves at once; the draft is kept. */
export function watchLeaving(): void {
  addEventListener('beforeunload', (event) => {
    if (unsaved.size > 0) event.preventDefault()
  })
  const navigation = (window as { navigation?: EventTarget & { traverseTo(key: string): void } }).navigation
  navigation?.addEventListener('navigate', (event) => {
    const { navigationType, cancelable, destination } = event as TraverseEvent
    if (navigationType !== 'traverse' || !cancelable || unsaved.size === 0) return
    if (new URL(destination.url).pathname === location.pathname) return
    event.preventDefault()
    leave(() => navigation.traverseTo(destination.key))
  })
}
