import { lazy, Suspense, useSyncExternalStore } from 'react'
import { leaveGuard } from './leave-guard.ts'

export const importQuestion = () => import('./leave-question.tsx')
const LeaveQuestion = lazy(importQuestion)

/** Rendered once, next to the pages. */
export function LeaveDialog() {
  const isPending = useSyncExternalStore(leaveGuard.subscribe, leaveGuard.isPending)
  if (!isPending) return null
  return (
    <Suspense fallback={null}>
      <LeaveQuestion />
    </Suspense>
  )
}
