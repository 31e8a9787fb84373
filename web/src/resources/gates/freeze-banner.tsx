import { lazy, Suspense, useState } from 'react'
import type { Freeze } from '#web/base/api/types.ts'
import { GuardedButton } from '#web/base/ui/controls.tsx'
import { formatDateTime } from '#web/base/ui/format.ts'
import type { Scope } from '#web/shared/scope/scope.ts'
import classes from './freeze-banner.module.css'
import { usePlaceOf } from './freezes.ts'

const EndFreezeDialog = lazy(() => import('./end-freeze-dialog.tsx'))

/** On every page of a frozen scope: what holds runs there, until when, and how to end it. */
export default function FreezeBanner({ freezes, scope }: { freezes: Freeze[]; scope: Scope }) {
  return (
    <section className={classes.banner} aria-label="Freezes">
      {freezes.map((freeze) => (
        <FrozenBy key={freeze.id} freeze={freeze} scope={scope} />
      ))}
    </section>
  )
}

function FrozenBy({ freeze, scope }: { freeze: Freeze; scope: Scope }) {
  const [isEnding, setEnding] = useState(false)
  const { name, reason, environment_id, in_force_until, organization_id, weekly } = freeze
  const placeOf = usePlaceOf(scope)
  const until = in_force_until === null ? '' : ` until ${formatDateTime(in_force_until)}`
  return (
    <div className={classes.freeze}>
      <span className="wrap">
        <strong>{name}</strong>: nothing starts in {placeOf(freeze)}
        {until}. {reason}
      </span>
      {weekly === null && (
        <GuardedButton
          permission={environment_id === null ? 'organization:edit' : 'environment:edit'}
          scope={
            environment_id === null
              ? { organization: organization_id }
              : { organization: organization_id, ...scope }
          }
          size="compact-sm"
          variant="default"
          onClick={() => setEnding(true)}
        >
          End freeze
        </GuardedButton>
      )}
      {isEnding && (
        <Suspense fallback={null}>
          <EndFreezeDialog freeze={freeze} close={() => setEnding(false)} />
        </Suspense>
      )}
    </div>
  )
}
