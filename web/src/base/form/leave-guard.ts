// Asks before a person leaves a form or a page with unsaved changes.
import { createEmitter } from '#web/base/api/signals.ts'

const changed = createEmitter()
/** What forgets the unsaved changes of each form. */
const unsaved = new Map<symbol, () => void>()
/** What the person is about to do; leaving has to be confirmed first. */
let pending: (() => void) | undefined

/** `forget` drops what is kept of the changes. Returns what ends it: the changes were saved or discarded. */
export function blockNavigation(forget: () => void = () => {}): () => void {
  const key = Symbol()
  unsaved.set(key, forget)
  return () => unsaved.delete(key)
}

export const hasUnsaved = (): boolean => unsaved.size > 0

/** Leaves one form, whose changes `go` discards: at once, or after confirmation if anything is unsaved. */
export function leave(go: () => void): void {
  if (!hasUnsaved()) {
    go()
    return
  }
  pending = go
  changed.emit()
}

/** Leaves all forms of the page: what they keep goes with it. */
export function leavePage(go: () => void): void {
  leave(() => {
    for (const forget of unsaved.values()) forget()
    unsaved.clear()
    go()
  })
}

export const leaveGuard = {
  subscribe: changed.subscribe,
  isPending: () => pending !== undefined,
  confirm() {
    const go = pending
    pending = undefined
    changed.emit()
    go?.()
  },
  dismiss() {
    pending = undefined
    changed.emit()
  },
}
