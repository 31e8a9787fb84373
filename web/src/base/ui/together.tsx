import { useIsFetching } from '@tanstack/react-query'
import { type ReactNode, useEffect, useState, useSyncExternalStore } from 'react'
import { createEmitter } from '#web/base/api/signals.ts'
import { Loading } from './page.tsx'

/** A response has this long to lead to another request. */
const PAUSE_MS = 30
/** What takes longer than this comes later, and moves what is below it. */
const MAX_WAIT_MS = 2_000

type TogetherProps = {
  /** The noun for messages: "application". */
  what: string
  children: ReactNode
}

/** Shows its children once everything that they load is there, so that nothing moves while people begin to read. */
export function Together({ what, children }: TogetherProps) {
  const isFetching = useIsFetching({ predicate: ({ state }) => state.status === 'pending' }) > 0
  const isLoading = useSyncExternalStore(changed.subscribe, hasPending) || isFetching
  const [isShown, setShown] = useState(false)
  useEffect(() => {
    const timer = setTimeout(() => setShown(true), isLoading ? MAX_WAIT_MS : PAUSE_MS)
    return () => clearTimeout(timer)
  }, [isLoading])
  return (
    <>
      {!isShown && <Loading what={what} />}
      <div hidden={!isShown}>{children}</div>
    </>
  )
}

const changed = createEmitter()
let pending = 0
const hasPending = () => pending > 0

/** In place of a part whose code is being loaded: what is shown together waits for it. */
export function Pending() {
  useEffect(() => {
    pending += 1
    changed.emit()
    return () => {
      pending -= 1
      changed.emit()
    }
  }, [])
  return null
}
