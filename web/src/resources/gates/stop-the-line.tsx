import { OctagonX } from 'lucide-react'
import { lazy, Suspense, useState } from 'react'
import { GuardedButton } from '#web/base/ui/controls.tsx'
import { STOP_THE_LINE, useFreezes } from './freezes.ts'

const StopDialog = lazy(() => import('./stop-dialog.tsx'))

/** Nothing starts in a whole organization, from one moment to the next: two clicks. */
export function StopTheLine({ organization }: { organization: number }) {
  const [isAsking, setAsking] = useState(false)
  const isStopped = useFreezes({ organization }).some(({ name }) => name === STOP_THE_LINE)
  if (isStopped) return null
  return (
    <>
      <GuardedButton
        permission="organization:edit"
        scope={{ organization }}
        variant="outline"
        color="red"
        icon={OctagonX}
        onClick={() => setAsking(true)}
      >
        {STOP_THE_LINE}
      </GuardedButton>
      {isAsking && (
        <Suspense fallback={null}>
          <StopDialog organization={organization} close={() => setAsking(false)} />
        </Suspense>
      )}
    </>
  )
}
